import type { NotificationSignalInput } from "@selvedge/core/notifications";
import type { PointName } from "./kill-points.ts";
import type { StorePlace } from "./store-factory.ts";

/** Where a child kills itself: before or after the `nth` commit of a kind, or inside a tool or the model. */
export interface KillPoint {
  name: PointName;
  when: "before" | "after";
  nth: number;
}

/** What a child is started with. */
export interface ChildConfig {
  store: StorePlace;
  /** Tools append a line to it each time they run. */
  effects: string;
  lease: { leaseMs: number; renewMs: number };
  /** How long the model takes between two parts of an answer. */
  chunkDelayMs: number;
  /** Whether it delivers notifications that are due. */
  dispatches?: boolean;
  /** Gets the name of each message before its sender hears that it was accepted. */
  marks?: string;
  kill?: KillPoint;
}

/** What a call is for, whatever id the model gave it this time: `m7-plain-0`. */
export function errandOf(toolCallId: string): string {
  return toolCallId.slice(0, toolCallId.lastIndexOf("-"));
}

export type Command =
  | { id: number; do: "send"; api: "message" | "queue"; threadId: string; text: string; key?: string }
  | { id: number; do: "decide"; threadId: string; toolCallId: string; approved: boolean }
  | {
      id: number;
      do: "notify";
      threadId: string;
      notifications: NotificationSignalInput[];
    }
  /** Reads the whole inbox into the chat. */
  | { id: number; do: "read"; threadId: string }
  /** Closes in order and ends. */
  | { id: number; do: "close" }
  /** Stands still until somebody lets it go on. Between two transactions: one that holds a lock would stop everybody. */
  | { id: number; do: "stop" };

export type Answer =
  | { ready: true }
  | { id: number; ok: true; action?: string; duplicate?: boolean; records?: string[] }
  | { id: number; ok: false; code: string; message: string };

/** All threads belong to one resource: this is about processes, not about tenants. */
export const RESOURCE = "user";

/** A message names itself and the tools it wants: `m7 plain,approve`. */
export function messageText(token: string, tools: readonly string[]): string {
  return `${token} ${tools.join(",") || "-"}`;
}
