import type { Agent } from "@selvedge/core/agent";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { countKey } from "./draw-flow.ts";
import {
  answerOf,
  type Decision,
  decide,
  digest,
  type FlowDef,
  type FlowNode,
  itemsOf,
  outputOf,
  promptOf,
  sleepOf,
  type StepDef,
  type Unit,
  type Value,
} from "./flow.ts";

/** One execution of a step, as the world outside sees it. */
export interface Execution {
  runId: string;
  step: StepDef;
  /** What the engine says is the same in every execution. */
  key: string;
  input: Value;
  /** How often it was resumed. */
  round: number;
  retryCount: number;
  answers: readonly string[];
}

/** The world around the steps of a workflow: what they do there is seen, takes time, and may never end. */
export interface FlowOutside {
  began(execution: Execution): void | Promise<void>;
  work(execution: Execution): Promise<void>;
  /** An effect of `once`: it happens, and has a result that is another one each time. */
  effect(execution: Execution, name: string): Promise<number>;
  /** What `once` returned. */
  kept(execution: Execution, name: string, value: number): void;
  /** The last thing a step does. */
  ended(execution: Execution, how: "suspends" | "ends" | "fails"): void;
  /** Answers differently when asked again. */
  coin(): boolean;
  /** Another number each time. */
  fresh(): number;
  now(): number;
  agent?(id: string, asks: boolean): Agent;
}

/** What a step of a generated workflow is called with. */
interface StepParams {
  inputData: Value;
  resumeData?: { answer: string };
  suspendData?: { round: number; answers: string[] };
  state: Record<string, Value>;
  setState(next: Record<string, Value>): Promise<void>;
  suspend(payload: unknown, options?: { resumeLabel?: string }): Promise<unknown>;
  bail(result: unknown): unknown;
  retryCount: number;
  runId: string;
  idempotencyKey: string;
  once(key: string, fn: () => Promise<number>): Promise<number>;
}

interface Given {
  inputData: Value;
  iterationCount: number;
}

/** The builder as far as it is used here: what is generated has no types to infer. */
interface Builder {
  then(step: unknown): Builder;
  parallel(steps: unknown[]): Builder;
  branch(arms: [condition: (given: Given) => Promise<boolean>, step: unknown][]): Builder;
  dowhile(step: unknown, condition: (given: Given) => Promise<boolean>): Builder;
  dountil(step: unknown, condition: (given: Given) => Promise<boolean>): Builder;
  foreach(step: unknown, options: { concurrency: number }): Builder;
  map(fn: (given: Given) => Promise<unknown>): Builder;
  sleep(ms: number | ((given: Given) => Promise<number>)): Builder;
  sleepUntil(date: Date | ((given: Given) => Promise<Date>)): Builder;
  commit(): unknown;
}

/** Accepts everything, and costs nothing. */
const ANYTHING = {
  "~standard": {
    version: 1 as const,
    vendor: "selvedge",
    validate: (value: unknown) => ({ value }),
    jsonSchema: { input: () => ({}), output: () => ({}) },
  },
};

/** The workflow that a definition describes. */
export function buildFlow(flow: FlowDef, outside: FlowOutside): ReturnType<typeof createWorkflow> {
  const config = { id: flow.id, inputSchema: ANYTHING, outputSchema: ANYTHING, stateSchema: ANYTHING };
  let builder = createWorkflow(config as never) as unknown as Builder;
  for (const node of flow.nodes) builder = addNode(builder, node, outside);
  return builder.commit() as ReturnType<typeof createWorkflow>;
}

function addNode(builder: Builder, node: FlowNode, outside: FlowOutside): Builder {
  switch (node.op) {
    case "then":
      return builder.then(buildUnit(node.unit, outside));
    case "agent":
      return builder
        .map(async ({ inputData }) => ({ prompt: promptOf(inputData) }))
        .then(createStep(outside.agent!(node.id, node.asks)))
        .map(async ({ inputData }) => answerOf((inputData as { text: string }).text));
    case "parallel":
      return builder.parallel(node.units.map((unit) => buildUnit(unit, outside)));
    case "branch":
      return builder.branch(
        node.arms.map(({ when, unit }) => [condition(when, unit.id, outside), buildUnit(unit, outside)]),
      );
    case "loop": {
      const goesOn = ({ iterationCount }: Given): boolean =>
        iterationCount < node.times && (!node.coin || outside.coin());
      const body = buildUnit(node.unit, outside);
      return node.type === "dowhile"
        ? builder.dowhile(body, async (given) => goesOn(given))
        : builder.dountil(body, async (given) => !goesOn(given));
    }
    case "foreach":
      return builder
        .map(async ({ inputData }) => itemsOf(inputData, node.items))
        .foreach(buildUnit(node.unit, outside), { concurrency: node.concurrency });
    case "map":
      return builder.map(async ({ inputData }) => ({
        mapped: digest(inputData),
        ...(node.coin && { fresh: outside.fresh() }),
      }));
    case "sleep": {
      const long = (input: Value): number => (node.computed ? sleepOf(node.ms, input) : node.ms);
      if (node.until)
        return builder.sleepUntil(async ({ inputData }) => new Date(outside.now() + long(inputData)));
      return builder.sleep(node.computed ? async ({ inputData }) => long(inputData) : node.ms);
    }
  }
}

function condition(when: Decision, id: string, outside: FlowOutside): (given: Given) => Promise<boolean> {
  return async ({ inputData }) => {
    if (when.kind === "throws") throw new Error(`condition of ${id} throws`);
    return when.kind === "coin" ? outside.coin() : decide(when.kind, inputData);
  };
}

function buildUnit(unit: Unit, outside: FlowOutside): unknown {
  return unit.kind === "flow" ? buildFlow(unit, outside) : buildStep(unit, outside);
}

function buildStep(def: StepDef, outside: FlowOutside): unknown {
  const execute = async (params: StepParams): Promise<unknown> => {
    const { inputData: input, suspendData, resumeData, retryCount, runId, state } = params;
    const round = suspendData ? suspendData.round + 1 : 0;
    // A resumed execution has both; any other has neither, also in the next iteration of a loop.
    const answers = suspendData ? [...suspendData.answers, resumeData?.answer ?? "no answer"] : [];
    if (!suspendData && resumeData) answers.push("resumed without a suspension");
    const execution = { runId, step: def, key: params.idempotencyKey, input, round, retryCount, answers };
    await outside.began(execution);
    const kept: number[] = [];
    for (let index = 0; index < def.keeps; index++) {
      const name = `k${index}`;
      const value = await params.once(name, () => outside.effect(execution, name));
      outside.kept(execution, name, value);
      kept.push(value);
    }
    await outside.work(execution);
    if (retryCount < def.fails) {
      outside.ended(execution, "fails");
      throw new Error(`${def.id} fails`);
    }
    if (def.counts)
      await params.setState({ [countKey(def.id)]: ((state[countKey(def.id)] as number) ?? 0) + 1 });
    if (round < def.suspends) {
      outside.ended(execution, "suspends");
      return params.suspend(
        { round, answers },
        def.labelled ? { resumeLabel: `label-${def.id}` } : undefined,
      );
    }
    const output = outputOf(def, input, answers, def.reads === undefined ? undefined : state[def.reads]);
    if (def.sets !== undefined) await params.setState({ [def.sets]: (output as { n: number }).n });
    outside.ended(execution, "ends");
    return def.bails ? params.bail({ ...output, kept }) : { ...output, kept };
  };
  return createStep({
    id: def.id,
    inputSchema: ANYTHING,
    outputSchema: ANYTHING,
    stateSchema: ANYTHING,
    retries: def.retries,
    idempotent: def.idempotent,
    execute,
  } as never);
}
