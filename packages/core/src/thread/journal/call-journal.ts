import type { JSONValue, MessagePart, StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../../errors.ts";
import { toJson } from "../../json.ts";
import type { Resumption } from "../../run/resume.ts";
import type { OpenCall } from "../../run/run.ts";
import type { CallIntent, StepRecord } from "../../run/run-journal.ts";
import { NOBODY_ASKED } from "../../run/open-calls.ts";
import { setMessageMetadata } from "../../storage/message-writes.ts";
import type { Where, Write } from "../../storage/storage.ts";
import { CALLS, type CallRow, RUNS } from "../../storage/thread-tables.ts";
import type { ToolOutcome } from "../../tool/execute-tool.ts";
import { hashArgs } from "./hash-args.ts";
import { type OpenStep, storeStep } from "./open-step.ts";
import { storeOutcome } from "./stored-outcome.ts";
import type { Thread } from "../hold/thread.ts";
import { insert, remove, update } from "../../storage/writes.ts";

/** The run's row is written again with each save. */
const MAX_PROGRESS_BYTES = 64 * 1024;

/** A step and its position in its message. */
export interface PlacedStep {
  step: StepRecord;
  messageStep: number;
}

/** The journal of a run's tool calls: what is written before a tool runs, while it waits, and when it is done. */
export class CallJournal {
  readonly #runId: string;
  readonly #threadId: string;
  /** The unfinished step: its tools are about to run, or it waits for a person. */
  #open: Pick<OpenStep, "messageId" | "messageStep" | "parts"> | undefined;
  /** The calls of that step that may save their progress, with what they saved. */
  #progress: Record<string, JSONValue> = {};
  #started: readonly string[] = [];
  /** Whether the store may contain calls of this run. */
  #hasRows: boolean;

  constructor(runId: string, threadId: string, resumption?: Resumption) {
    this.#runId = runId;
    this.#threadId = threadId;
    this.#hasRows = resumption !== undefined;
    if (resumption?.responseId === undefined || resumption.calls.length === 0) return;
    const { responseId: messageId, responseSteps: messageStep, parts } = resumption;
    this.#open = { messageId, messageStep, parts };
    for (const { toolCallId, progress } of resumption.calls)
      if (progress !== undefined) this.#progress[toolCallId] = progress as JSONValue;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Calls are about to run: the run's row says so. Those of a continued run may have waited before. */
  start(place: PlacedStep, calls: readonly CallIntent[]): { openStep: OpenStep; writes: Write[] } {
    const { step } = place;
    const open = (this.#open = placeOf(place));
    const started = (this.#started = calls.map((call) => call.toolCallId));
    const progress = this.#progress;
    // A row keeps what the call was approved with.
    const columns = { state: "started" } as const;
    return {
      openStep: {
        ...open,
        started,
        usage: step.own,
        ...(Object.keys(progress).length > 0 && { progress }),
      },
      writes: this.#hasRows ? calls.map((call) => put(this.#row(place, call, columns), "update")) : [],
    };
  }

  saveProgress(toolCallId: string, value: unknown): Write {
    if (!this.#started.includes(toolCallId)) {
      throw new AgentError(
        "superseded",
        `Tool call "${toolCallId}" is over, so its progress cannot be saved. Stop when abortSignal is aborted.`,
      );
    }
    const progress = toJson(value) ?? null;
    const size = Buffer.byteLength(JSON.stringify(progress));
    if (size > MAX_PROGRESS_BYTES) {
      throw new AgentError(
        "limit-exceeded",
        `The progress of tool call "${toolCallId}" has ${size} bytes; at most ${MAX_PROGRESS_BYTES} can be saved. Save a reference instead.`,
      );
    }
    this.#progress = { ...this.#progress, [toolCallId]: progress };
    return update(RUNS, {
      where: { id: this.#runId },
      merge: { open_step: { progress: this.#progress } },
    });
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

  /** The waiting calls; answered ones need no journal any more. */
  wait(place: PlacedStep, waiting: readonly OpenCall[]): Write[] {
    this.#open = placeOf(place);
    this.#forgetProgress();
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

  /** The results are in the history: the journal of the step is deleted. */
  close(): Write[] {
    return this.#hasRows ? [remove(CALLS, { run_id: this.#runId })] : [];
  }

  closed(): void {
    this.#open = undefined;
    this.#forgetProgress();
    this.#hasRows = false;
  }

  #forgetProgress(): void {
    this.#progress = {};
    this.#started = [];
  }

  /** However a run ends, it leaves no call without a result. */
  answerOpen(thread: Thread, state: "failed" | "aborted"): Write[] {
    if (!this.#open) return [];
    const { messageId, messageStep } = this.#open;
    const result = `The run ${state === "failed" ? "failed" : "was aborted"} before this call was answered.`;
    const parts = this.#open.parts.map((part): MessagePart => {
      if (part.type !== "tool-invocation") return part;
      const { toolInvocation } = part;
      if (toolInvocation.state !== "call" && toolInvocation.state !== "approval-requested") return part;
      return { ...part, toolInvocation: { ...toolInvocation, state: "output-error", result, isError: true } };
    });
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

  #waitingRow(place: PlacedStep, intent: CallIntent, call: OpenCall): Write[] {
    const row = this.#row(place, intent, {
      state: "waiting",
      requires_approval: call.requiresApproval ? 1 : 0,
      suspend_payload: call.bounds === undefined ? (call.suspendPayload ?? null) : { bounds: call.bounds },
      resume_schema: call.resumeSchema,
      reason: call.reason ?? null,
      outcome: null,
      decision: null,
    });
    const { run_id: _run, tool_call_id: _call, ...set } = row;
    const ran: Where<CallRow> = {
      run_id: this.#runId,
      tool_call_id: call.toolCallId,
      // An approval that no longer counts makes room for the next one.
      state: { in: call.again ? ["started", "done", "decided"] : ["started", "done"] },
    };
    return [
      // A waiting call may have been decided since this run read it: that decision stands.
      put(row, "ignore"),
      // A call that has run may only have its outcome in its row.
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

function placeOf({ step, messageStep }: PlacedStep): Pick<OpenStep, "messageId" | "messageStep" | "parts"> {
  return { messageId: step.message.id, messageStep, parts: [...step.parts] };
}

function put(row: Partial<CallRow>, onConflict: "update" | "ignore"): Write {
  return insert(CALLS, row, onConflict);
}
