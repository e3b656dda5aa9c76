import type { MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import { assemble } from "../storage/list-messages.ts";
import type { Row, Storage } from "../storage/storage.ts";
import { MESSAGES, MESSAGE_STEPS } from "../storage/tables.ts";
import { CALLS } from "../storage/thread-tables.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import type { Actor } from "./actor.ts";
import type { StoredOptions } from "./stored-options.ts";

/** A decision about a waiting call. */
export interface Decision {
  approved: boolean;
  reason?: string;
  message?: string;
  resumeData?: unknown;
}

/** A tool call the store knows to be unfinished. */
export interface JournaledCall {
  toolCallId: string;
  toolName: string;
  args: unknown;
  argsHash: string;
  /** `started`: was about to run; `done`: ran; `waiting`: for somebody; `decided`: was answered. */
  state: "started" | "done" | "waiting" | "decided";
  requiresApproval: boolean;
  suspendPayload: unknown;
  resumeSchema: string;
  outcome: ToolOutcome | undefined;
  decision: Decision | undefined;
}

/** Where a stored run stands, read from the store alone. */
export interface Resumption {
  runId: string;
  options: StoredOptions;
  /** Steps that are stored whole. */
  step: number;
  /** What the loop was going to do after them. */
  next: "continue" | "stop";
  responseId: string | undefined;
  usage: Usage | undefined;
  /** Whether it had taken its input in. */
  begun: boolean;
  /** Somebody asked for it to be aborted. */
  abort: boolean;
  /** The unfinished step: what the model said, and its calls in order. */
  parts: MessagePart[];
  calls: JournaledCall[];
  /** The run's messages so far, without the unfinished step. */
  messages: StoredMessage[];
  responseSteps: Map<string, number>;
}

export async function readResumption(storage: Storage, actor: Actor, row: Row): Promise<Resumption> {
  const runId = row["id"] as string;
  const firstId = row["first_message_id"] as string | null;
  const responseId = (row["response_id"] as string | null) ?? undefined;
  const callRows = await storage.select({
    table: CALLS,
    where: { run_id: runId },
    orderBy: [{ column: "position" }],
  });
  const calls = callRows.map(toCall);
  const messages = firstId === null ? [] : await readMessages(storage, actor.threadId, firstId);
  const lastStep = (row["response_steps"] as number | null) ?? 0;
  const responseSteps = new Map<string, number>();
  let parts: MessagePart[] = [];
  if (responseId !== undefined) {
    // With calls in the journal the step that was stored last is still open.
    responseSteps.set(responseId, calls.length > 0 ? lastStep : lastStep + 1);
    if (calls.length > 0) {
      parts = await readParts(storage, responseId, lastStep);
      const response = messages.find((message) => message.id === responseId);
      response?.content.parts.splice(response.content.parts.length - parts.length);
    }
  }
  return {
    runId,
    options: row["options"] as StoredOptions,
    step: row["step"] as number,
    next: row["next"] as "continue" | "stop",
    responseId,
    usage: (row["usage"] ?? undefined) as Usage | undefined,
    begun: firstId !== null,
    abort: actor.abortRun === runId,
    parts,
    calls,
    messages,
    responseSteps,
  };
}

async function readParts(storage: Storage, messageId: string, step: number): Promise<MessagePart[]> {
  const [row] = await storage.select({
    table: MESSAGE_STEPS,
    where: { message_id: messageId, step },
    limit: 1,
  });
  return (row?.["parts"] as unknown as MessagePart[] | undefined) ?? [];
}

async function readMessages(storage: Storage, threadId: string, firstId: string): Promise<StoredMessage[]> {
  const [first] = await storage.select({ table: MESSAGES, where: { id: firstId }, limit: 1 });
  if (!first) return [];
  const where = { thread_id: threadId, seq: { gte: first["seq"] as number } };
  return assemble(storage, await storage.select({ table: MESSAGES, where, orderBy: [{ column: "seq" }] }));
}

function toCall(row: Row): JournaledCall {
  return {
    toolCallId: row["tool_call_id"] as string,
    toolName: row["tool_name"] as string,
    args: row["args"],
    argsHash: row["args_hash"] as string,
    state: row["state"] as JournaledCall["state"],
    requiresApproval: row["requires_approval"] === 1,
    suspendPayload: row["suspend_payload"] ?? undefined,
    resumeSchema: (row["resume_schema"] as string | null) ?? "{}",
    outcome: (row["outcome"] ?? undefined) as ToolOutcome | undefined,
    decision: (row["decision"] ?? undefined) as Decision | undefined,
  };
}
