import type { WorkflowUsage } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { SINK } from "../stream/chunk-stream.ts";
import type { StepWriter } from "./step.ts";

type CustomChunk = Parameters<StepWriter["custom"]>[0];

export interface WriterTarget {
  output(output: unknown): void;
  custom(chunk: CustomChunk): void;
  usage(usage: WorkflowUsage): void;
}

/** The `writer` of a step. */
export class RunStepWriter extends WritableStream<unknown> implements StepWriter {
  readonly #target: WriterTarget;

  constructor(target: WriterTarget) {
    const sink = { write: (chunk: unknown): void => writeTo(target, chunk) };
    super(sink);
    this.#target = target;
    // A step may pipe the streams of several agents.
    Object.defineProperty(this, SINK, { value: () => new WritableStream(sink) });
  }

  async write(chunk: unknown): Promise<void> {
    writeTo(this.#target, chunk);
  }

  async custom(chunk: CustomChunk): Promise<void> {
    const type: unknown = (chunk as Partial<CustomChunk> | null | undefined)?.type;
    // Readers would take it for an event of the run, such as its end.
    if (typeof type !== "string" || type.startsWith("workflow-"))
      throw new AgentError(
        "invalid-argument",
        `writer.custom() needs a type such as "data-progress", got ${showValue(type)}.`,
      );
    this.#target.custom(chunk);
  }
}

function writeTo(target: WriterTarget, chunk: unknown): void {
  target.output(chunk);
  const usage = usageOf(chunk);
  if (usage) target.usage(usage);
}

/** The usage that the last chunk of an agent's stream reports. */
function usageOf(chunk: unknown): WorkflowUsage | undefined {
  const { type, payload } = (chunk ?? {}) as {
    type?: unknown;
    payload?: { output?: { usage?: Partial<WorkflowUsage> } };
  };
  const usage = type === "finish" ? payload?.output?.usage : undefined;
  if (!usage) return undefined;
  const { inputTokens = 0, outputTokens = 0, totalTokens = inputTokens + outputTokens } = usage;
  return { inputTokens, outputTokens, totalTokens };
}
