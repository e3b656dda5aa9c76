import type { StoredMessage } from "@selvedge/protocol";
import type { OpenCall } from "../../run/run.ts";
import type { CallIntent, StepRecord } from "../../run/run-journal.ts";
import { NOBODY_ASKED } from "../../run/open-calls.ts";
import { readStep } from "../../storage/list-messages.ts";
import { setMessageMetadata } from "../../storage/message-writes.ts";
import type { Where, Write } from "../../storage/storage.ts";
import { CALLS, RUNS, type CallRow } from "../../storage/thread-tables.ts";
import type { ToolOutcome } from "../../tool/execute-tool.ts";
import { hashArgs } from "./hash-args.ts";
import { type OpenStep, openStepOf, storeStep } from "./open-step.ts";
import { storeOutcome } from "./stored-outcome.ts";
import type { Thread } from "../hold/thread.ts";
import { insert, remove, update } from "../../storage/writes.ts";

/** A step and the place in its message where it is stored. */
export interface PlacedStep {
  step: StepRecord;
  messageStep: number;
}

/** The journal of a run's tool calls: what is written before a tool runs, while it waits, and when it is done. */
export class CallJournal {
  readonly #runId: string;
  readonly #threadId: string;
  /** Whether the store may hold an open step of this run, and calls. */
  #open: boolean;
  #hasRows: boolean;

  constructor(runId: string, threadId: string, resumed: boolean) {
    this.#runId = runId;
    this.#threadId = threadId;
    this.#open = resumed;
    this.#hasRows = resumed;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  /** Calls are about to run: the run's row says so. Those of a continued run may have waited before. */
  start(place: PlacedStep, calls: readonly CallIntent[]): { openStep: OpenStep; writes: Write[] } {
    this.#open = true;
    const { step, messageStep } = place;
    const started = calls.map((call) => call.toolCallId);
    const columns = { state: "started", requires_approval: 0 } as const;
    return {
      openStep: { messageId: step.message.id, messageStep, parts: [...step.parts], started, usage: step.own },
      writes: this.#hasRows ? calls.map((call) => put(this.#row(place, call, columns), "update")) : [],
    };
  }

  recordOutcome(toolCallId: string, outcome: ToolOutcome): Write {
    this.#hasRows = true;
    const row = {
      run_id: this.#runId,
      tool_call_id: toolCallId,
      thread_id: this.#threadId,
      state: "done" as const,
      outcome: storeOutcome(outcome),
    };
    return put(row, "update");
  }

  /** The calls that wait; those that were answered need no journal any more. */
  wait(place: PlacedStep, waiting: readonly OpenCall[]): Write[] {
    this.#open = true;
    this.#hasRows = true;
    const open = new Set(waiting.map((call) => call.toolCallId));
    const answered = place.step.parts.flatMap((part) =>
      part.type === "tool-invocation" && !open.has(part.toolInvocation.toolCallId)
        ? [part.toolInvocation.toolCallId]
        : [],
    );
    const gone = { run_id: this.#runId, tool_call_id: { in: answered } };
    return [
      remove(CALLS, gone),
      ...waiting.flatMap((call, position) => this.#waitingRow(place, { ...call, position }, call)),
    ];
  }

  /** The results are in the history: the journal of the step goes. */
  close(): Write[] {
    return this.#hasRows ? [remove(CALLS, { run_id: this.#runId })] : [];
  }

  closed(): void {
    this.#open = false;
    this.#hasRows = false;
  }

  /** However a run ends, it leaves no call without an answer. */
  async answerOpen(thread: Thread, state: "failed" | "aborted"): Promise<Write[]> {
    const open = this.#open ? await this.#readOpen(thread) : undefined;
    if (!open) return [];
    const { messageId, messageStep, parts } = open;
    for (const part of parts) {
      if (part.type !== "tool-invocation") continue;
      const { toolInvocation } = part;
      if (toolInvocation.state !== "call" && toolInvocation.state !== "approval-requested") continue;
      const result = `The run ${state === "failed" ? "failed" : "was aborted"} before this call was answered.`;
      Object.assign(toolInvocation, { state: "output-error", result, isError: true });
    }
    const { threadId, resourceId, system } = thread;
    const message: StoredMessage & { threadId: string } = {
      id: messageId,
      role: "assistant",
      createdAt: new Date(system.now()),
      threadId,
      resourceId,
      content: { format: 2, parts: [] },
    };
    return [storeStep(message, messageStep, parts), setMessageMetadata(messageId, NOBODY_ASKED)];
  }

  /** The step that was not finished: its tools were about to run, or it waits for somebody. */
  async #readOpen({
    storage,
  }: Thread): Promise<Pick<OpenStep, "messageId" | "messageStep" | "parts"> | undefined> {
    const [run] = await storage.select({ table: RUNS, where: { id: this.#runId }, limit: 1 });
    const open = openStepOf(run);
    if (open) return open;
    const where = { run_id: this.#runId, message_id: { ne: null } };
    const [call] = await storage.select({ table: CALLS, where, limit: 1 });
    if (!call) return undefined;
    const messageId = call.message_id as string;
    const messageStep = call.message_step ?? 0;
    return { messageId, messageStep, parts: await readStep(storage, messageId, messageStep) };
  }

  #waitingRow(place: PlacedStep, intent: CallIntent, call: OpenCall): Write[] {
    const row = this.#row(place, intent, {
      state: "waiting",
      requires_approval: call.requiresApproval ? 1 : 0,
      suspend_payload: call.suspendPayload ?? null,
      resume_schema: call.resumeSchema,
      reason: call.reason ?? null,
      outcome: null,
      decision: null,
    });
    const { run_id: _run, tool_call_id: _call, ...set } = row;
    const ran: Where<CallRow> = {
      run_id: this.#runId,
      tool_call_id: call.toolCallId,
      state: { in: ["started", "done"] },
    };
    return [
      // One that waits already may have been decided since this run looked: that stands.
      put(row, "ignore"),
      // One that has run has a row that may hold its outcome and nothing else.
      update(CALLS, { where: ran, set }),
    ];
  }

  #row({ step, messageStep }: PlacedStep, call: CallIntent, columns: Partial<CallRow>): Partial<CallRow> {
    return {
      run_id: this.#runId,
      tool_call_id: call.toolCallId,
      thread_id: this.#threadId,
      step: step.stepNumber,
      message_id: step.message.id,
      message_step: messageStep,
      position: call.position,
      tool_name: call.toolName,
      args: call.args ?? null,
      args_hash: hashArgs(call.toolName, call.args),
      ...columns,
    };
  }
}

function put(row: Partial<CallRow>, onConflict: "update" | "ignore"): Write {
  return insert(CALLS, row, onConflict);
}
