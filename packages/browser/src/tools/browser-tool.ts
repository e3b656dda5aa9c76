import type { JsonSchema } from "@selvedge/core/tools";
import type { System } from "@selvedge/core/memory";
import type { ThreadSession } from "../thread-session.ts";

/** What a tool works with. */
export interface ToolCall {
  session: ThreadSession;
  system: System;
  /** Default for one operation, in milliseconds. */
  timeout: number;
  refusalOf(url: string): string | undefined;
  /** Why a URL may not be opened, where the proxy cannot refuse it. */
  checkAddress(url: URL): Promise<string | undefined>;
  /** Closes the browser of this thread. */
  closeSession(): Promise<void>;
}

export interface BrowserTool<Input = never> {
  name: string;
  description: string;
  category: "read" | "execute";
  /** Asks for approval, because nothing bounds what it does on the page. */
  asks?: boolean;
  /** Running it again after a crash is harmless. */
  idempotent?: boolean;
  inputSchema: JsonSchema;
  run(call: ToolCall, input: Input): Promise<Record<string, unknown>>;
  /** What the model sees instead of the result. */
  toModelOutput?(result: Record<string, unknown>): unknown;
}

export function fields(
  required: Record<string, JsonSchema>,
  optional: Record<string, JsonSchema> = {},
): JsonSchema {
  return {
    type: "object",
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

export const REF: JsonSchema = {
  type: "string",
  description: 'A ref from the latest snapshot, such as "e5".',
};
export const TEXT: JsonSchema = { type: "string" };
export const TIMEOUT: JsonSchema = {
  type: "integer",
  minimum: 1,
  maximum: 300_000,
  description: "Milliseconds to wait.",
};
export const WAIT_UNTIL: JsonSchema = { type: "string", enum: ["load", "domcontentloaded", "networkidle"] };
export const MODIFIERS: JsonSchema = {
  type: "array",
  items: { type: "string", enum: ["Alt", "Control", "ControlOrMeta", "Meta", "Shift"] },
};
