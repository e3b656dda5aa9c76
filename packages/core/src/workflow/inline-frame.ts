import { AgentError } from "../errors.ts";
import type { AbortOptions, Processor, ProcessorContext } from "../processor/processor.ts";
import type { ProcessorStepData } from "../processor/processor-step-schema.ts";
import { Tripwire } from "../processor/tripwire.ts";
import type { WorkflowHost } from "./workflow-host.ts";

/** The workflow ends with this value. */
export class Bail {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/**
 * One call of a workflow of processors: the arguments of its hook, and what its steps share. For the chunks of a stream
 * one frame serves all.
 */
export class InlineFrame {
  readonly workflowId: string;
  readonly host: WorkflowHost | undefined;
  readonly args: ProcessorContext;
  init: ProcessorStepData;
  /** The messages as the run's list has them. */
  listed: ProcessorStepData["messages"];
  readonly results: Map<string, unknown> = new Map();
  readonly #contexts = new Map<Processor, ProcessorContext>();
  #params: object | undefined;

  constructor(
    workflowId: string,
    host: WorkflowHost | undefined,
    args: ProcessorContext,
    init: ProcessorStepData,
  ) {
    this.workflowId = workflowId;
    this.host = host;
    this.args = args;
    this.init = init;
    this.listed = init.messages;
  }

  /** The context of one of the processors: with its own state, and tripwires in its name. */
  contextOf(processor: Processor): ProcessorContext {
    let context = this.#contexts.get(processor);
    if (!context) {
      const states = (this.args.state[PROCESSORS] ??= {}) as Record<string, Record<string, unknown>>;
      const state = (states[processor.id] ??= {});
      context = { ...this.args, state, abort: tripwireOf(processor.id) };
      this.#contexts.set(processor, context);
    }
    return context;
  }

  /** The parameters of a plain step. */
  paramsFor(inputData: unknown): Record<string, unknown> {
    const params = Object.create((this.#params ??= this.#makeParams())) as Record<string, unknown>;
    params["inputData"] = inputData;
    return params;
  }

  #makeParams(): object {
    const { runId, resourceId, requestContext, abortSignal, retryCount, state, writer } = this.args;
    return {
      runId,
      workflowId: this.workflowId,
      resourceId,
      mastra: this.host,
      requestContext,
      abortSignal,
      retryCount,
      state,
      setState: async (next: object) => void Object.assign(state, next),
      getInitData: () => this.init,
      getStepResult: (step: string | { id: string }) =>
        this.results.get(typeof step === "string" ? step : step.id) ?? null,
      abort: tripwireOf(this.workflowId),
      bail: (value: unknown) => new Bail(value),
      suspend: () => {
        throw new AgentError(
          "not-supported",
          `Workflow "${this.workflowId}" is a processor and cannot suspend.`,
        );
      },
      once: async (_: string, fn: () => unknown) => fn(),
      idempotencyKey: runId,
      writer: { write: async () => {}, custom: writer.custom.bind(writer) },
    };
  }
}

const PROCESSORS = "workflow:processors";

function tripwireOf(id: string): ProcessorContext["abort"] {
  return (reason?: string, options?: AbortOptions): never => {
    throw new Tripwire(id, reason, options);
  };
}
