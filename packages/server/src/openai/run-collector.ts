import type { RunOutput } from "@selvedge/core/agent";
import {
  type AgentChunk,
  type FinishReason,
  ignoreChunk,
  type ToolCallPayload,
  type Usage,
} from "@selvedge/protocol";
import { isLast } from "../sse/run-events.ts";

/** The steps of a run, from its result. */
export type Steps = Awaited<RunOutput["steps"]>;

/** What OpenAI's formats need of a run: its text, the calls left to the client, and how it ended. */
export class RunCollector {
  text = "";
  reason: FinishReason = "stop";
  usage: Usage | undefined;
  failure: unknown;
  isOver = false;
  /** Calls without a result here. Known when the run has ended. */
  calls: ToolCallPayload[] = [];
  readonly #open = new Map<string, ToolCallPayload>();

  add(chunk: AgentChunk): void {
    switch (chunk.type) {
      case "text-delta":
        this.text += chunk.payload.text;
        break;
      case "tool-call":
        this.#open.set(chunk.payload.toolCallId, chunk.payload);
        break;
      case "tool-result":
      case "tool-error":
      case "tool-output-denied":
        this.#open.delete(chunk.payload.toolCallId);
        break;
      case "finish":
        this.reason = chunk.payload.stepResult.reason;
        this.usage = chunk.payload.output.usage;
        break;
      case "error":
        this.failure = chunk.payload.error;
        break;
      default:
        ignoreChunk<"run" | "step" | "content" | "input" | "question" | "progress" | "other" | "data">(chunk);
    }
    if (!isLast(chunk)) return;
    this.isOver = true;
    // A call that waits for a person here is not for the client to run.
    this.calls = this.reason === "suspended" ? [] : [...this.#open.values()];
  }

  /** If the result differs from the streamed output, the result counts: processors changed it or repeated a step. */
  settle(steps: Steps): void {
    this.text = steps.map(({ text }) => text).join("");
    const args = new Map(
      steps.flatMap(({ toolCalls }) => toolCalls.map((call) => [call.toolCallId, call.args] as const)),
    );
    this.calls = this.calls
      .filter(({ toolCallId }) => args.has(toolCallId))
      .map((call) => ({ ...call, args: args.get(call.toolCallId) }));
  }
}
