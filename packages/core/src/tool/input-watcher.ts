import type { AgentChunk } from "@selvedge/protocol";
import { notify } from "./notify.ts";
import type { ToolDefinition } from "./tool.ts";
import type { ToolSet } from "./tool-set.ts";

type AnyDefinition = ToolDefinition<any, any>;

/** Passes a tool its input while the model is still writing it. */
export class InputWatcher {
  readonly #tools: ToolSet;
  readonly #open = new Map<string, AnyDefinition>();

  private constructor(tools: ToolSet) {
    this.#tools = tools;
  }

  /** `undefined` if no tool asks for it, which is the usual case. */
  static of(tools: ToolSet): InputWatcher | undefined {
    for (const { definition } of tools.values()) {
      if (definition.onInputStart || definition.onInputDelta) return new InputWatcher(tools);
    }
    return undefined;
  }

  see(chunk: AgentChunk): void {
    if (chunk.type === "tool-call-input-streaming-start") {
      const { toolCallId, toolName } = chunk.payload;
      const definition = this.#tools.get(toolName)?.definition;
      if (!definition) return;
      this.#open.set(toolCallId, definition);
      notify(definition.onInputStart?.bind(definition), { toolCallId });
    } else if (chunk.type === "tool-call-delta") {
      const { toolCallId, argsTextDelta } = chunk.payload;
      const definition = this.#open.get(toolCallId);
      notify(definition?.onInputDelta?.bind(definition), { toolCallId, inputTextDelta: argsTextDelta });
    }
  }
}
