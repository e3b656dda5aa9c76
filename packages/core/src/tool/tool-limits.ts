import type { RequestContext } from "../request-context/request-context.ts";

export type ToolChoice = "auto" | "none" | "required" | { type: "tool"; toolName: string };

/** Whether a call may run, and why. The person who is asked sees the reason; so does the model that is refused. */
export interface ToolPermission {
  decision: "allow" | "ask" | "deny";
  reason?: string;
}

/**
 * Which calls wait for a person. A function may also answer for a tool that asks by itself: `allow` runs it, `deny`
 * refuses it without asking.
 */
export type ApprovalRule =
  | boolean
  | ((call: {
      toolName: string;
      args: any;
      requestContext: RequestContext;
    }) => boolean | ToolPermission | Promise<boolean | ToolPermission>);

/** Bounds on the tool calls of a run. */
export interface ToolLimits {
  /** How long a tool may work; 0 for no limit. A tool's own `timeoutMs` wins. */
  toolTimeoutMs: number;
  /** A larger tool result, or value that a tool or a processor writes, is cut everywhere, with a note that says so. */
  toolResultBytes: number;
  /** What a tool throws is cut to this everywhere. */
  toolErrorBytes: number;
  /** A call with longer arguments is not made; the model is told. */
  toolInputBytes: number;
  /** A reply with more tool calls fails the run, and none of them is made. 0 for no limit. */
  toolCalls: number;
}
