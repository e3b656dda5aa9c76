import type { AgentChunk, FinishReason, ToolCallPayload, Usage } from "@selvedge/protocol";
import { isLast } from "../sse/run-events.ts";

/** What OpenAI's forms tell of a run: its words, the calls it left to the client, and how it ended. */
export class RunCollector {
  text = "";
  reason: FinishReason = "stop";
  usage: Usage | undefined;
  failure: unknown;
  isOver = false;
  /** Calls that nobody here answered. Known when the run is over. */
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
    }
    if (!isLast(chunk)) return;
    this.isOver = true;
    // A call that waits for a person here is not the client's to make.
    this.calls = this.reason === "suspended" ? [] : [...this.#open.values()];
  }
}
