import type { MessagePart } from "@selvedge/protocol";
import { errorMessage } from "../errors.ts";
import type { OpenCall } from "../run/run.ts";
import type { CallIntent, StepRecord } from "../run/run-thread.ts";
import { NOBODY_ASKED } from "../run/tool-calls.ts";
import { putStep, setMessageMetadata } from "../storage/message-writes.ts";
import type { Row, Storage, Write } from "../storage/storage.ts";
import { MESSAGE_STEPS } from "../storage/tables.ts";
import { CALLS } from "../storage/thread-tables.ts";
import type { ToolOutcome } from "../tool/execute-tool.ts";
import { hashArgs } from "./hash-args.ts";

/** A step and the place in its message where it is stored. */
export interface PlacedStep {
  step: StepRecord;
  messageStep: number;
}

/** The journal of a run's tool calls: what is written before a tool runs, while it waits, and when it is done. */
export class CallJournal {
  readonly #runId: string;
  readonly #threadId: string;
  /** Whether the store may hold calls of this run. */
  #open: boolean;

  constructor(runId: string, threadId: string, open: boolean) {
    this.#runId = runId;
    this.#threadId = threadId;
    this.#open = open;
  }

  start(place: PlacedStep, calls: readonly CallIntent[]): Write[] {
    this.#open = true;
    return calls.map((call) => this.#row(place, call, { state: "started", requires_approval: 0 }, "update"));
  }

  settle(toolCallId: string, outcome: ToolOutcome): Write {
    const where = { run_id: this.#runId, tool_call_id: toolCallId };
    const set = { state: "done", outcome: storeOutcome(outcome) as never };
    return { op: "update", table: CALLS, where, set };
  }

  /** The calls that wait; those that were answered need no journal any more. */
  wait(place: PlacedStep, waiting: readonly OpenCall[]): Write[] {
    this.#open = true;
    const open = new Set(waiting.map((call) => call.toolCallId));
    const answered = place.step.parts.flatMap((part) =>
      part.type === "tool-invocation" && !open.has(part.toolInvocation.toolCallId)
        ? [part.toolInvocation.toolCallId]
        : [],
    );
    const gone = { run_id: this.#runId, tool_call_id: { in: answered } };
    return [
      { op: "delete", table: CALLS, where: gone },
      ...waiting.flatMap((call, position) => this.#waitingRow(place, { ...call, position }, call)),
    ];
  }

  /** The results are in the history: the journal of the step goes. */
  close(): Write[] {
    return this.#open ? [{ op: "delete", table: CALLS, where: { run_id: this.#runId } }] : [];
  }

  closed(): void {
    this.#open = false;
  }

  /** However a run ends, it leaves no call without an answer. */
  async answerOpen(storage: Storage, state: "failed" | "aborted"): Promise<Write[]> {
    if (!this.#open) return [];
    const [call] = await storage.select({ table: CALLS, where: { run_id: this.#runId }, limit: 1 });
    if (!call) return [];
    const where = { message_id: call["message_id"] as string, step: call["message_step"] as number };
    const [row] = await storage.select({ table: MESSAGE_STEPS, where, limit: 1 });
    const parts = (row?.["parts"] ?? []) as unknown as MessagePart[];
    for (const part of parts) {
      if (part.type !== "tool-invocation") continue;
      const { toolInvocation } = part;
      if (toolInvocation.state !== "call" && toolInvocation.state !== "approval-requested") continue;
      const result = `The run ${state === "failed" ? "failed" : "was aborted"} before this call was answered.`;
      Object.assign(toolInvocation, { state: "output-error", result, isError: true });
    }
    return [
      putStep({ messageId: where.message_id, threadId: this.#threadId, step: where.step, parts }),
      setMessageMetadata(where.message_id, NOBODY_ASKED),
    ];
  }

  #waitingRow(place: PlacedStep, intent: CallIntent, call: OpenCall): Write[] {
    const columns: Row = {
      state: "waiting",
      requires_approval: call.requiresApproval ? 1 : 0,
      suspend_payload: (call.suspendPayload ?? null) as never,
      resume_schema: call.resumeSchema,
      outcome: null,
      decision: null,
    };
    const ran = { run_id: this.#runId, tool_call_id: call.toolCallId, state: { in: ["started", "done"] } };
    return [
      // One that waits already may have been decided since this run looked: that stands.
      this.#row(place, intent, columns, "ignore"),
      { op: "update", table: CALLS, where: ran, set: columns },
    ];
  }

  #row(
    { step, messageStep }: PlacedStep,
    call: CallIntent,
    columns: Row,
    onConflict: "update" | "ignore",
  ): Write {
    return {
      op: "insert",
      table: CALLS,
      onConflict,
      row: {
        run_id: this.#runId,
        tool_call_id: call.toolCallId,
        thread_id: this.#threadId,
        step: step.stepNumber,
        message_id: step.message.id,
        message_step: messageStep,
        position: call.position,
        tool_name: call.toolName,
        args: (call.args ?? null) as never,
        args_hash: hashArgs(call.toolName, call.args),
        ...columns,
      },
    };
  }
}

function storeOutcome(outcome: ToolOutcome): unknown {
  return outcome.kind === "error" ? { kind: "error", error: errorMessage(outcome.error) } : outcome;
}
