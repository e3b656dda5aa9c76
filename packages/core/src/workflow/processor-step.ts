import { AgentError } from "../errors.ts";
import type { Processor } from "../processor/processor.ts";
import { type ProcessorStepData, ProcessorStepSchema } from "../processor/processor-step-schema.ts";
import type { Step } from "./step.ts";

/** A step that was made from a processor. */
export interface ProcessorStep<Id extends string = string> extends Step<
  Id,
  any,
  ProcessorStepData,
  ProcessorStepData
> {
  readonly processor: Processor;
}

/** A processor as a step of a workflow for `inputProcessors` or `outputProcessors`. */
export function processorStep<Id extends string>(
  processor: Processor & { readonly id: Id },
): ProcessorStep<`processor:${Id}`> {
  return {
    id: `processor:${processor.id}`,
    description: `Processor ${processor.id}`,
    inputSchema: ProcessorStepSchema,
    outputSchema: ProcessorStepSchema,
    component: "PROCESSOR",
    processor,
    execute(): never {
      throw new AgentError(
        "not-supported",
        `Processor "${processor.id}" runs in a workflow that is passed to an agent: inputProcessors or outputProcessors.`,
      );
    },
  };
}

export function isProcessorStep(step: Step): step is ProcessorStep {
  return (step as Partial<ProcessorStep>).processor !== undefined;
}

const HOOKS = [
  "processInput",
  "processInputStep",
  "processOutputStream",
  "processOutputResult",
  "processOutputStep",
  "processToolResult",
  "processLLMRequest",
  "processLLMResponse",
  "processAPIError",
  "computeStateSignal",
] as const;

/** Whether an object is a processor, for `createStep(processor)`. */
export function isProcessor(value: unknown): value is Processor {
  const object = value as Record<string, unknown> | undefined;
  return typeof object?.["id"] === "string" && HOOKS.some((hook) => typeof object[hook] === "function");
}
