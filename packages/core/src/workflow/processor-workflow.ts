import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import type { Processor, ProcessorContext, StepOverrides } from "../processor/processor.ts";
import {
  PROCESSOR_PHASES,
  type ProcessorPhase,
  type ProcessorStepData,
} from "../processor/processor-step-schema.ts";
import type { Graph } from "./graph.ts";
import { Bail, InlineFrame } from "./inline-frame.ts";
import { type Flow, flowOf, processorsIn } from "./inline-flow.ts";
import { HOOK_OF, andThen } from "./inline-processor.ts";
import type { WorkflowHost } from "./workflow-host.ts";

/** A workflow, as far as a processor made from it needs it. */
export interface ProcessorWorkflow {
  readonly id: string;
  readonly committed: boolean;
  /** Throws if it is not committed. */
  readonly rules: { readonly graph: Graph; readonly retryConfig: { attempts: number; delay: number } };
}

type Data = ProcessorStepData;
type Awaitable<Value> = Value | Promise<Value>;

export function isProcessorWorkflow(value: unknown): value is ProcessorWorkflow {
  return isObject(value) && typeof value["committed"] === "boolean" && "rules" in value;
}

/**
 * A workflow as a processor. It runs in memory, and nothing of it is stored: values are passed by reference, and what is
 * synchronous stays so. It has a hook if one of its processors has it; a plain step sees all phases.
 */
export function toProcessor(workflow: ProcessorWorkflow, host: WorkflowHost | undefined): Processor {
  const { id } = workflow;
  const flow = flowOf(workflow.rules, host);
  const processors = processorsIn(workflow.rules.graph, host);
  const has = (phase: ProcessorPhase) =>
    processors === "any" || processors.some((processor) => typeof processor[HOOK_OF[phase]] === "function");
  const call = new WorkflowCall(id, host, flow);
  const hooks = {
    input: (args: ProcessorContext) => call.onMessages("input", args),
    inputStep: (args: ProcessorContext) => call.onStep(args),
    outputStream: (args: ProcessorContext) => call.onPart(args),
    outputResult: (args: ProcessorContext) => call.onMessages("outputResult", args),
    outputStep: (args: ProcessorContext) => call.onMessages("outputStep", args),
    toolResult: (args: ProcessorContext) => call.onToolResult(args),
  } satisfies Record<ProcessorPhase, unknown>;
  const own = PROCESSOR_PHASES.filter(has).map((phase) => [HOOK_OF[phase], hooks[phase]] as const);
  const takesData = processors !== "any" && processors.some(({ processDataParts }) => processDataParts);
  return {
    id,
    name: id,
    ...(takesData && { processDataParts: true }),
    ...Object.fromEntries(own),
  } as Processor;
}

const OVERRIDES = [
  "model",
  "tools",
  "toolChoice",
  "activeTools",
  "providerOptions",
  "modelSettings",
  "structuredOutput",
] as const satisfies (keyof StepOverrides)[];

/** Carries out a workflow for each hook, and turns its result into that of the hook. */
class WorkflowCall {
  readonly #id: string;
  readonly #host: WorkflowHost | undefined;
  readonly #flow: Flow;
  /** The chunks of a step share their arguments. */
  readonly #streams = new WeakMap<object, InlineFrame>();

  constructor(id: string, host: WorkflowHost | undefined, flow: Flow) {
    this.#id = id;
    this.#host = host;
    this.#flow = flow;
  }

  onMessages(phase: "input" | "outputResult" | "outputStep", args: ProcessorContext): Awaitable<unknown> {
    const frame = this.#open({ ...hookData(args), phase }, args);
    return andThen(this.#run(frame), (data) => messagesOf(data, frame));
  }

  onStep(args: ProcessorContext): Awaitable<unknown> {
    const frame = this.#open({ ...hookData(args), phase: "inputStep" }, args);
    return andThen(this.#run(frame), (data) => {
      const [before, after] = [frame.init, data] as object[] as Record<string, unknown>[];
      const changed = OVERRIDES.filter((name) => after![name] !== before![name]);
      return {
        ...Object.fromEntries(changed.map((name) => [name, after![name]])),
        ...messagesOf(data, frame),
      };
    });
  }

  onToolResult(args: ProcessorContext): Awaitable<unknown> {
    const frame = this.#open({ ...hookData(args), phase: "toolResult" }, args);
    return andThen(this.#run(frame), (data) =>
      data.result === frame.init.result ? undefined : { result: data.result },
    );
  }

  onPart(args: ProcessorContext): Awaitable<unknown> {
    const { part, streamParts } = args as object as Data;
    const data: Data = { phase: "outputStream", part: part!, streamParts: streamParts!, state: args.state };
    let frame = this.#streams.get(args);
    if (!frame) {
      frame = this.#open(data, args);
      this.#streams.set(args, frame);
    }
    frame.init = data;
    return andThen(this.#run(frame), (result) => (result.part === part ? undefined : result.part));
  }

  #open(data: Data, args: ProcessorContext): InlineFrame {
    return new InlineFrame(this.#id, this.#host, args, data);
  }

  #run(frame: InlineFrame): Awaitable<Data> {
    try {
      const result = this.#flow(frame.init, frame);
      if (isPromise(result)) return this.#settle(result);
      return this.#check(result);
    } catch (error) {
      return this.#caught(error);
    }
  }

  async #settle(result: PromiseLike<unknown>): Promise<Data> {
    try {
      return this.#check(await result);
    } catch (error) {
      return this.#caught(error);
    }
  }

  #caught(error: unknown): Data {
    if (error instanceof Bail) return this.#check(error.value);
    throw error;
  }

  #check(result: unknown): Data {
    if (isObject(result) && "phase" in result) return result as object as Data;
    throw new AgentError(
      "processor-failed",
      `Workflow "${this.#id}" must return the data of its processors, got ${showValue(result)}. After .parallel() or .branch(), pick one with .map().`,
    );
  }
}

/** The arguments that belong to the hook. */
function hookData(args: ProcessorContext): Omit<Data, "phase"> {
  const {
    abort: _,
    sendSignal: _signal,
    sendStateSignal: _state,
    ...data
  } = args as object as Data & Pick<ProcessorContext, "abort" | "sendSignal" | "sendStateSignal">;
  return data;
}

function messagesOf({ messages, systemMessages }: Data, frame: InlineFrame): object | undefined {
  const isSame = messages === frame.listed && systemMessages === undefined;
  return isSame || !messages ? undefined : { messages, ...(systemMessages && { systemMessages }) };
}
