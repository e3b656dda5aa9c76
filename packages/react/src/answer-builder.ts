import type { AgentChunk, MessagePart, ToolInvocation } from "@selvedge/protocol";
import type { Wire } from "@selvedge/protocol/routes";

type Part = Wire<MessagePart>;
type Call = Wire<ToolInvocation>;

/** The parts of one answer while its chunks come in. Parts are replaced, never changed, so that each can be compared. */
export class AnswerBuilder {
  #parts: Part[];
  readonly #open = new Map<string, number>();
  /** Arguments while they are written. */
  readonly #argsText = new Map<string, string>();

  constructor(parts: readonly Part[] = []) {
    this.#parts = [...parts];
  }

  get parts(): readonly Part[] {
    return [...this.#parts];
  }

  /** Whether a call stands in this answer. */
  hasCall(toolCallId: string): boolean {
    return this.#indexOfCall(toolCallId) !== -1;
  }

  take(chunk: AgentChunk): void {
    switch (chunk.type) {
      case "step-start":
        this.#open.clear();
        this.#parts.push({ type: "step-start" });
        break;
      case "text-start":
        this.#openPart(`text ${chunk.payload.id}`, { type: "text", text: "" });
        break;
      case "text-delta": {
        const at = this.#openPart(`text ${chunk.payload.id}`, { type: "text", text: "" });
        const part = this.#parts[at] as Part & { type: "text" };
        this.#parts[at] = { ...part, text: part.text + chunk.payload.text };
        break;
      }
      case "text-end":
        this.#open.delete(`text ${chunk.payload.id}`);
        break;
      case "reasoning-start":
      case "reasoning-delta": {
        const empty: Part = { type: "reasoning", reasoning: "", details: [] };
        const at = this.#openPart(`reasoning ${chunk.payload.id}`, empty);
        const part = this.#parts[at] as Part & { type: "reasoning" };
        if (chunk.type === "reasoning-delta")
          this.#parts[at] = { ...part, reasoning: part.reasoning + chunk.payload.text };
        break;
      }
      case "reasoning-end":
        this.#open.delete(`reasoning ${chunk.payload.id}`);
        break;
      case "source": {
        const { providerMetadata: _, ...source } = chunk.payload;
        this.#parts.push({ type: "source", source });
        break;
      }
      case "file": {
        const { data, mimeType, filename } = chunk.payload;
        this.#parts.push({ type: "file", data, mimeType, ...(filename !== undefined && { filename }) });
        break;
      }
      default:
        if (chunk.type.startsWith("data-")) this.#takeData(chunk as AgentChunk & { data?: unknown });
        else this.#takeCall(chunk);
    }
  }

  #takeData(chunk: AgentChunk & { data?: unknown; transient?: boolean }): void {
    if (!chunk.transient) this.#parts.push({ type: chunk.type as `data-${string}`, data: chunk.data });
  }

  #takeCall(chunk: AgentChunk): void {
    switch (chunk.type) {
      case "tool-call-input-streaming-start": {
        const { toolCallId, toolName } = chunk.payload;
        if (!this.hasCall(toolCallId))
          this.#addCall({ state: "partial-call", toolCallId, toolName, args: "" });
        break;
      }
      case "tool-call-delta": {
        const { toolCallId, argsTextDelta } = chunk.payload;
        const text = (this.#argsText.get(toolCallId) ?? "") + argsTextDelta;
        this.#argsText.set(toolCallId, text);
        this.#changeCall(toolCallId, { args: text });
        break;
      }
      case "tool-call": {
        const { toolCallId, toolName, args, providerExecuted } = chunk.payload;
        this.#argsText.delete(toolCallId);
        const call: Call = {
          state: "call",
          toolCallId,
          toolName,
          args,
          ...(providerExecuted && { providerExecuted }),
        };
        if (!this.#changeCall(toolCallId, call)) this.#addCall(call);
        break;
      }
      case "tool-call-approval":
        this.#changeCall(chunk.payload.toolCallId, { state: "approval-requested" });
        break;
      case "tool-result": {
        const { toolCallId, result, isError } = chunk.payload;
        this.#changeCall(toolCallId, { state: "result", result, ...(isError && { isError }) });
        break;
      }
      case "tool-error":
        this.#changeCall(chunk.payload.toolCallId, {
          state: "output-error",
          result: chunk.payload.error,
          isError: true,
        });
        break;
      case "tool-output-denied":
        this.#changeCall(chunk.payload.toolCallId, {
          state: "output-denied",
          approval: chunk.payload.approval,
        });
        break;
    }
  }

  #addCall(toolInvocation: Call): void {
    this.#parts.push({ type: "tool-invocation", toolInvocation });
  }

  #changeCall(toolCallId: string, change: Partial<Call>): boolean {
    const at = this.#indexOfCall(toolCallId);
    if (at === -1) return false;
    const part = this.#parts[at] as Part & { type: "tool-invocation" };
    this.#parts[at] = { ...part, toolInvocation: { ...part.toolInvocation, ...change } };
    return true;
  }

  #indexOfCall(toolCallId: string): number {
    return this.#parts.findLastIndex(
      (part) => part.type === "tool-invocation" && part.toolInvocation.toolCallId === toolCallId,
    );
  }

  #openPart(key: string, empty: Part): number {
    let at = this.#open.get(key);
    if (at === undefined) {
      at = this.#parts.push(empty) - 1;
      this.#open.set(key, at);
    }
    return at;
  }
}
