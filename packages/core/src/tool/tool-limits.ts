import type { RequestContext } from "../request-context/request-context.ts";

export type ToolChoice = "auto" | "none" | "required" | { type: "tool"; toolName: string };

/** Whether a call may run, and why. The person who is asked and the model that is refused see the reason. */
export interface ToolPermission {
  decision: "allow" | "ask" | "deny";
  reason?: string;
  /** From a tool: it asks even if a rule of the run allows the call. */
  always?: boolean;
  /** From a tool: it asks even if a rule allows all tools of its category. */
  explicit?: boolean;
  /** From a tool: what keeps the call within limits. An approval counts only while this is the same. */
  bounds?: string;
  /** From a rule: it is about all tools of a category. */
  byCategory?: boolean;
}

/**
 * Which calls need approval. A function also decides for tools that require approval themselves: `allow` runs the call,
 * `deny` refuses it without asking.
 */
export type ApprovalRule =
  | boolean
  | ((call: {
      toolName: string;
      args: any;
      requestContext: RequestContext;
    }) => boolean | ToolPermission | Promise<boolean | ToolPermission>);

/** Limits on the tool calls of a run. */
export interface ToolLimits {
  /** Milliseconds a tool may run; 0 means no limit. A tool's own `timeoutMs` takes precedence. */
  toolTimeoutMs: number;
  /** Larger tool results, and larger values written by tools or processors, are truncated everywhere, with a note. */
  toolResultBytes: number;
  /** Longer error messages of tools are truncated everywhere. */
  toolErrorBytes: number;
  /** A call with longer arguments is not executed; the model receives an error. */
  toolInputBytes: number;
  /** A reply with more tool calls fails the run, and none of them is executed. 0 means no limit. */
  toolCalls: number;
}
