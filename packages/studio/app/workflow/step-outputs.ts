import type { WorkflowChunk } from "@selvedge/protocol";

/** Of each step the last part is kept. */
const MAX_TEXT = 32 * 1024;

/** What steps write while they run: the text of agents, and whatever else a step wrote, one line each. */
export class StepOutputs {
  readonly #texts = new Map<string, string>();
  readonly #listeners = new Set<() => void>();

  readonly take = (chunk: WorkflowChunk): void => {
    if (chunk.type === "workflow-step-start") {
      if (this.#texts.delete(chunk.payload.id)) this.#tell();
      return;
    }
    if (chunk.type !== "workflow-step-output") return;
    const { stepName, output } = chunk.payload;
    const text = textOf(output);
    if (text === "") return;
    this.#texts.set(stepName, `${this.#texts.get(stepName) ?? ""}${text}`.slice(-MAX_TEXT));
    this.#tell();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  of(key: string): string | undefined {
    return this.#texts.get(key);
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The words of an agent's chunk; of its other chunks nothing. */
function textOf(output: unknown): string {
  if (typeof output === "string") return output;
  const { type, payload } = Object(output) as { type?: unknown; payload?: { text?: unknown } };
  if (type === "text-delta") return typeof payload?.text === "string" ? payload.text : "";
  const isAgentChunk = typeof type === "string" && payload !== undefined;
  return isAgentChunk ? "" : `${JSON.stringify(output) ?? ""}\n`;
}
