import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import type { Processor } from "../processor/processor.ts";
import type { ProcessorStepData } from "../processor/processor-step-schema.ts";
import { sleep } from "../system.ts";
import type { ForeachNode, Graph, LoopNode, Member, Node, SleepNode, StepNode } from "./graph.ts";
import { Bail, type InlineFrame } from "./inline-frame.ts";
import { andThen, applyProcessor } from "./inline-processor.ts";
import { isProcessorStep } from "./processor-step.ts";
import type { Step } from "./step.ts";
import type { WorkflowHost } from "./workflow-host.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** A part of a workflow as a function. Asynchronous only if a step is. */
export type Flow = (value: unknown, frame: InlineFrame) => Awaitable<unknown>;

interface Rules {
  readonly retryConfig: { readonly attempts: number; readonly delay: number };
}

const MAX_ITERATIONS = 10_000;

/** A workflow that runs in memory, compiled once. */
export function flowOf(
  { graph, retryConfig }: Rules & { readonly graph: Graph },
  host: WorkflowHost | undefined,
): Flow {
  const rules = { retryConfig };
  return inOrder(graph.nodes.map((node) => nodeFlow(node, rules, host)));
}

/** The processors of a workflow, or `any` if it has steps that see every phase. */
export function processorsIn(graph: Graph, host: WorkflowHost | undefined): Processor[] | "any" {
  const all: Processor[] = [];
  for (const member of graph.nodes.flatMap(membersOf)) {
    if (member === "other") return "any";
    const found =
      member.kind === "workflow" ? processorsIn(member.scope.graph, host) : processorOf(member, host);
    if (found === "any") return "any";
    all.push(...found);
  }
  return all;
}

function processorOf(node: StepNode, host: WorkflowHost | undefined): Processor[] | "any" {
  const step = stepOf(node, host);
  return isProcessorStep(step) ? [step.processor] : "any";
}

function membersOf(node: Node): (Member | "other")[] {
  switch (node.kind) {
    case "step":
    case "workflow":
      return [node];
    case "parallel":
    case "branch":
      return [...node.members];
    case "loop":
    case "foreach":
      return [node.body];
    case "sleep":
      return [];
    case "map":
      return ["other"];
  }
}

function stepOf({ step }: StepNode, host: WorkflowHost | undefined): Step {
  return typeof step === "function" ? step(host) : step;
}

function inOrder(flows: readonly Flow[]): Flow {
  const from = (index: number, value: unknown, frame: InlineFrame): Awaitable<unknown> => {
    let current = value;
    for (let at = index; at < flows.length; at++) {
      const result = flows[at]!(current, frame);
      if (isPromise(result)) return result.then((next) => from(at + 1, next, frame));
      current = result;
    }
    return current;
  };
  return (value, frame) => from(0, value, frame);
}

function nodeFlow(node: Node, rules: Rules, host: WorkflowHost | undefined): Flow {
  switch (node.kind) {
    case "step":
    case "workflow":
      return memberFlow(node, rules, host);
    case "map":
      return recorded(node.id, (value, frame) => node.map(frame.paramsFor(value) as never));
    case "sleep":
      return sleepFlow(node);
    case "parallel": {
      const flows = node.members.map((member) => memberFlow(member, rules, host));
      return (value, frame) => together(node.members, flows, value, frame);
    }
    case "branch": {
      const flows = node.members.map((member) => memberFlow(member, rules, host));
      return async (value, frame) => {
        const chosen = await Promise.all(
          node.conditions.map(async (condition) =>
            condition({ ...params(value, frame), iterationCount: 0 } as never),
          ),
        );
        const isChosen = (_: unknown, index: number) => chosen[index] === true;
        return together(node.members.filter(isChosen), flows.filter(isChosen), value, frame);
      };
    }
    case "loop":
      return loopFlow(node, memberFlow(node.body, rules, host));
    case "foreach":
      return foreachFlow(node, memberFlow(node.body, rules, host));
  }
}

function memberFlow(member: Member, rules: Rules, host: WorkflowHost | undefined): Flow {
  if (member.kind === "workflow") return recorded(member.id, flowOf(member.scope, host));
  const step = stepOf(member, host);
  if (isProcessorStep(step)) {
    const { processor } = step;
    return recorded(member.id, (value, frame) => applyProcessor(processor, dataIn(value, member.id), frame));
  }
  return recorded(member.id, plainFlow(step, rules));
}

/** Its result can be read by later steps. */
function recorded(id: string, flow: Flow): Flow {
  return (value, frame) => {
    const result = flow(value, frame);
    if (isPromise(result))
      return result.then((output) => {
        frame.results.set(id, output);
        return output;
      });
    frame.results.set(id, result);
    return result;
  };
}

function plainFlow(step: Step, { retryConfig }: Rules): Flow {
  const attempts = step.retries ?? retryConfig.attempts;
  const once: Flow = (value, frame) =>
    andThen(step.execute(frame.paramsFor(value)), (result) => {
      if (result instanceof Bail) throw result;
      return result;
    });
  if (attempts === 0) return once;
  return async (value, frame) => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await once(value, frame);
      } catch (error) {
        // A tripwire is no error.
        if (attempt >= attempts || !(error instanceof Error)) throw error;
        await sleep(frame.args.system, retryConfig.delay, frame.args.abortSignal);
      }
    }
  };
}

function together(
  members: readonly Member[],
  flows: readonly Flow[],
  value: unknown,
  frame: InlineFrame,
): Awaitable<unknown> {
  const results = flows.map((flow) => flow(value, frame));
  const byId = (outputs: readonly unknown[]) =>
    Object.fromEntries(outputs.map((output, index) => [members[index]!.id, output]));
  return results.some(isPromise) ? Promise.all(results).then(byId) : byId(results);
}

function loopFlow({ condition, type, body }: LoopNode, flow: Flow): Flow {
  return async (value, frame) => {
    let current = value;
    for (let iterationCount = 1; iterationCount <= MAX_ITERATIONS; iterationCount++) {
      current = await flow(current, frame);
      const holds = await condition({ ...params(current, frame), iterationCount } as never);
      if (holds === (type === "dountil")) return current;
    }
    throw new AgentError(
      "limit-exceeded",
      `The loop of step "${body.id}" did not end after ${MAX_ITERATIONS} iterations.`,
    );
  };
}

function foreachFlow({ body }: ForeachNode, flow: Flow): Flow {
  return async (value, frame) => {
    if (!Array.isArray(value))
      throw new AgentError(
        "invalid-argument",
        `.foreach() of step "${body.id}" needs a list, got ${showValue(value)}.`,
      );
    const outputs: unknown[] = [];
    for (const item of value) outputs.push(await flow(item, frame));
    return outputs;
  };
}

function sleepFlow({ sleep: time }: SleepNode): Flow {
  return async (value, frame) => {
    const { system, abortSignal } = frame.args;
    const given = "ms" in time ? time.ms : time.until;
    const said = typeof given === "function" ? await given(frame.paramsFor(value) as never) : given;
    await sleep(system, said instanceof Date ? said.getTime() - system.now() : said, abortSignal);
    return value;
  };
}

function params(value: unknown, frame: InlineFrame): object {
  const own = frame.paramsFor(value);
  return { ...(Object.getPrototypeOf(own) as object), ...own };
}

function dataIn(value: unknown, id: string): ProcessorStepData {
  if (isObject(value) && "phase" in value) return value as object as ProcessorStepData;
  throw new AgentError(
    "processor-failed",
    `Step "${id}" needs the data of processors, got ${showValue(value)}. After .parallel() or .branch(), pick one with .map().`,
  );
}
