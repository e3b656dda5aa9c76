import {
  answerFrom,
  type FinishReason,
  foldChunk,
  type MessagePart,
  type ToolInvocation,
  type ToolInvocationPart,
  type Usage,
} from "@selvedge/protocol";
import type { Storage } from "../../storage/storage.ts";
import { EVENTS, type EventRow } from "../../storage/thread-tables.ts";
import type { NumberedChunk } from "../log/event-log.ts";
import { readRunRecord, type RunRecord } from "./thread-overview.ts";

export interface TimelineTool {
  toolCallId: string;
  toolName: string;
  state: "running" | "waiting" | "done" | "failed" | "denied";
  /** From the call to its outcome. */
  durationMs?: number;
}

export interface TimelineStep {
  step: number;
  startedAt: Date;
  durationMs?: number;
  finishReason?: FinishReason;
  usage?: Usage;
  text?: string;
  toolCalls: TimelineTool[];
  /** What observational memory changed in the prompt before the step. */
  activations?: TimelineActivation[];
}

/** Notes that joined the prompt, and the tokens they replaced. */
interface TimelineActivation {
  kind: "observation" | "reflection";
  removedTokens: number;
  addedTokens: number;
}

export interface RunTimeline extends RunRecord {
  timeline: TimelineStep[];
}

const ROWS_AT_ONCE = 100;

/**
 * A run reconstructed from its events, with the times at which they were stored. `undefined` if no such run is stored;
 * the timeline is empty if its events are not.
 */
export async function readRunTimeline(
  storage: Storage,
  address: { threadId: string; runId: string },
): Promise<RunTimeline | undefined> {
  const run = await readRunRecord(storage, address);
  if (!run) return undefined;
  const { threadId } = run;
  const writer = new TimelineWriter();
  for (let from = run.firstSeq; ;) {
    const rows = await storage.select({
      table: EVENTS,
      where: { thread_id: threadId, first: { gte: from } },
      orderBy: [{ column: "first" }],
      limit: ROWS_AT_ONCE,
    });
    for (const piece of rows) if (piece.run_id === run.runId) writer.add(piece);
    const last = rows.at(-1);
    if (!last || rows.length < ROWS_AT_ONCE || writer.over) break;
    from = last.last + 1;
  }
  return { ...run, timeline: writer.steps };
}

class TimelineWriter {
  readonly steps: TimelineStep[] = [];
  /** The step in progress, as stored. */
  #answer = answerFrom();
  readonly #calls = new Map<string, { shown: TimelineTool; from: number }>();
  /** Since the last step ended. */
  #activations: TimelineActivation[] = [];
  over = false;

  add(piece: EventRow): void {
    const at = piece["created_at"] as number;
    for (const chunk of piece["chunks"] as unknown as NumberedChunk[]) this.#read(chunk, at);
  }

  #read(chunk: NumberedChunk, at: number): void {
    if (chunk.type === "data-om-activation") this.#activate(chunk.data);
    if (chunk.type === "step-start") this.#beginStep(at);
    const changed = foldChunk(this.#answer, chunk);
    if (changed === "several")
      for (const { toolInvocation } of callsIn(this.#answer.parts)) this.#tell(toolInvocation, at);
    else if (changed !== undefined)
      for (const { toolInvocation } of callsIn([this.#answer.parts[changed]!]))
        this.#tell(toolInvocation, at);
    if (chunk.type === "step-finish") this.#endStep(chunk, at);
    if (chunk.type === "finish") this.over = chunk.payload.stepResult.reason !== "suspended";
    if (chunk.type === "abort" || chunk.type === "error") this.over = true;
  }

  #beginStep(at: number): void {
    const activations = this.#activations;
    this.#activations = [];
    this.steps.push({
      step: this.steps.length,
      startedAt: new Date(at),
      toolCalls: [],
      ...(activations.length > 0 && { activations }),
    });
    this.#answer = answerFrom();
    this.#calls.clear();
  }

  #activate(data: unknown): void {
    const { operationType, tokensActivated, observationTokens } = Object(data) as Record<string, unknown>;
    const activation: TimelineActivation = {
      kind: operationType === "reflection" ? "reflection" : "observation",
      removedTokens: Number(tokensActivated) || 0,
      addedTokens: Number(observationTokens) || 0,
    };
    const step = this.steps.at(-1);
    if (step && step.durationMs === undefined) (step.activations ??= []).push(activation);
    else this.#activations.push(activation);
  }

  #endStep(chunk: Extract<NumberedChunk, { type: "step-finish" }>, at: number): void {
    const step = this.steps.at(-1);
    if (!step) return;
    const { stepResult, output } = chunk.payload;
    step.durationMs = Math.max(0, at - step.startedAt.getTime());
    step.finishReason = stepResult.reason;
    step.usage = output.usage;
    if (output.text !== "") step.text = output.text;
  }

  #tell(call: ToolInvocation, at: number): void {
    const { toolCallId, toolName } = call;
    const state = this.#answer.questions.has(toolCallId) ? "waiting" : stateOf(call);
    if (!state) return;
    let known = this.#calls.get(toolCallId);
    if (!known) {
      known = { shown: { toolCallId, toolName, state }, from: at };
      this.#calls.set(toolCallId, known);
      this.steps.at(-1)?.toolCalls.push(known.shown);
    }
    known.shown.state = state;
    if (state !== "running" && state !== "waiting") known.shown.durationMs ??= Math.max(0, at - known.from);
  }
}

function callsIn(parts: readonly MessagePart[]): ToolInvocationPart[] {
  return parts.filter((part) => part.type === "tool-invocation");
}

/** None for a call whose arguments are still being written. */
function stateOf({ state, isError }: ToolInvocation): TimelineTool["state"] | undefined {
  switch (state) {
    case "partial-call":
      return undefined;
    case "call":
    case "approval-responded":
      return "running";
    case "approval-requested":
      return "waiting";
    case "result":
      return isError ? "failed" : "done";
    case "output-error":
      return "failed";
    case "output-denied":
      return "denied";
  }
}
