import type { FinishReason, Usage } from "@selvedge/protocol";
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
}

export interface RunTimeline extends RunRecord {
  timeline: TimelineStep[];
}

const ROWS_AT_ONCE = 100;

/**
 * A run as its events tell it, in the times at which they were stored. `undefined` when no such run is kept; the
 * timeline is empty when its events are not.
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
  readonly #calledAt = new Map<string, number>();
  over = false;

  add(piece: EventRow): void {
    const at = piece["created_at"] as number;
    for (const chunk of piece["chunks"] as unknown as NumberedChunk[]) this.#read(chunk, at);
  }

  #read(chunk: NumberedChunk, at: number): void {
    switch (chunk.type) {
      case "step-start":
        this.steps.push({ step: this.steps.length, startedAt: new Date(at), toolCalls: [] });
        return;
      case "tool-call": {
        const { toolCallId, toolName } = chunk.payload;
        this.#calledAt.set(toolCallId, at);
        this.steps.at(-1)?.toolCalls.push({ toolCallId, toolName, state: "running" });
        return;
      }
      case "tool-call-approval":
      case "tool-call-suspended":
        return this.#tool(chunk.payload.toolCallId, "waiting", undefined);
      case "tool-result":
        return this.#tool(chunk.payload.toolCallId, chunk.payload.isError ? "failed" : "done", at);
      case "tool-error":
        return this.#tool(chunk.payload.toolCallId, "failed", at);
      case "tool-output-denied":
        return this.#tool(chunk.payload.toolCallId, "denied", at);
      case "step-finish":
        return this.#endStep(chunk, at);
      case "finish":
        this.over = chunk.payload.stepResult.reason !== "suspended";
        return;
      case "abort":
      case "error":
        this.over = true;
        return;
      default:
    }
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

  #tool(toolCallId: string, state: TimelineTool["state"], at: number | undefined): void {
    const call = this.steps.flatMap((step) => step.toolCalls).find((one) => one.toolCallId === toolCallId);
    if (!call) return;
    call.state = state;
    const from = this.#calledAt.get(toolCallId);
    if (at !== undefined && from !== undefined) call.durationMs = Math.max(0, at - from);
  }
}
