import { countKey, isCountKey } from "./draw-flow.ts";
import {
  answerOf,
  decide,
  digest,
  type FlowDef,
  type FlowNode,
  itemsOf,
  outputOf,
  promptOf,
  type StepDef,
  type Unit,
  type Value,
} from "./flow.ts";

/** What only the world outside knows of a run. */
export interface FlowOracle {
  /** The answers that a step was resumed with, so far. */
  answers(stepId: string, input: Value): readonly string[];
  /** Whether any execution of this step with this input began: tells how a coin fell. */
  began(stepId: string, input: Value): boolean;
  /** Whether a step that may run once was in progress when its process was lost. */
  isUnknown(stepId: string, input: Value): boolean;
  /** What the executions before a time travel left in the state. */
  readonly left?: Readonly<Record<string, Value>>;
  /** Whether a step made from an agent waits for an approval. */
  agentWaits(agentId: string, input: Value): boolean;
}

/** What a run must be like. */
export interface Expected {
  status: "success" | "failed" | "suspended";
  result: Value;
  /** The messages of errors, any of which the run may have failed with. */
  errors: Set<string>;
  /** By path (`flow.step`): the inputs and outputs of its executions, in order. */
  steps: Map<string, { input: Value; output: Value }[]>;
  /** The paths in a `foreach`: any of their executions may be the last. */
  beside: Set<string>;
  /** The lists of outputs of each `foreach` that ended, in order. */
  lists: Map<string, Value[][]>;
  state: Record<string, Value>;
  /** Keys that executions beside each other set: any of these values is right. */
  loose: Map<string, Value[]>;
  /** Executions that may begin, by step and input. */
  mayBegin: Set<string>;
  /** Steps that wait for an answer, by step and input. */
  waiting: Set<string>;
}

export const UNKNOWN_OUTCOME = "step-outcome-unknown";

type End =
  | { tag: "ok"; value: Value }
  | { tag: "bail"; value: Value }
  | { tag: "failed"; errors: readonly string[] }
  | { tag: "suspended" };

export function executionKey(stepId: string, input: Value): string {
  return `${stepId}/${digest(input)}`;
}

/**
 * What a workflow leads to, by the plainest reading of its definition: nothing is stored, nothing is concurrent, and every
 * choice that is not determined comes from the oracle.
 */
export function interpretFlow(flow: FlowDef, input: Value, oracle: FlowOracle): Expected {
  const run = new Interpretation(oracle);
  const end = run.flow(flow, input, []);
  const { expected } = run;
  if (end.tag === "failed") {
    expected.status = "failed";
    for (const error of end.errors) expected.errors.add(error);
  } else if (end.tag === "suspended") expected.status = "suspended";
  else expected.result = end.value;
  return expected;
}

class Interpretation {
  readonly expected: Expected = {
    status: "success",
    result: undefined,
    errors: new Set(),
    steps: new Map(),
    beside: new Set(),
    lists: new Map(),
    state: {},
    loose: new Map(),
    mayBegin: new Set(),
    waiting: new Set(),
  };
  readonly #oracle: FlowOracle;
  /** In how many `foreach` this is: their executions may overtake each other. */
  #beside = 0;

  constructor(oracle: FlowOracle) {
    this.#oracle = oracle;
    // How often steps were executed before is known to no interpreter.
    for (const [key, value] of Object.entries(oracle.left ?? {}))
      if (!isCountKey(key)) this.expected.state[key] = value;
  }

  flow(flow: FlowDef, input: Value, path: readonly string[]): End {
    let value = input;
    for (const node of flow.nodes) {
      const end = this.#node(node, value, path);
      if (end.tag === "bail") return { tag: "ok", value: end.value };
      if (end.tag !== "ok") return end;
      value = end.value;
    }
    return { tag: "ok", value };
  }

  #node(node: FlowNode, input: Value, path: readonly string[]): End {
    switch (node.op) {
      case "then":
        return this.#unit(node.unit, input, path);
      case "map":
        return { tag: "ok", value: { mapped: digest(input) } };
      case "sleep":
        return { tag: "ok", value: input };
      case "agent":
        if (this.#oracle.agentWaits(node.id, input)) return { tag: "suspended" };
        return { tag: "ok", value: answerOf(`answer to ${/\d+/.exec(promptOf(input))![0]}`) };
      case "parallel":
        return together(node.units.map((unit) => [unit.id, this.#unit(unit, input, path)]));
      case "branch": {
        const thrown = node.arms.find(({ when }) => when.kind === "throws");
        if (thrown) return { tag: "failed", errors: [`condition of ${thrown.unit.id} throws`] };
        const chosen = node.arms.filter(({ when, unit }) =>
          when.kind === "coin"
            ? this.#began(unit, input)
            : when.kind !== "throws" && decide(when.kind, input),
        );
        return together(chosen.map(({ unit }) => [unit.id, this.#unit(unit, input, path)]));
      }
      case "loop": {
        let value = input;
        for (let count = 1; ; count++) {
          const end = this.#unit(node.unit, value, path);
          if (end.tag !== "ok") return end;
          value = end.value;
          const goesOn = count < node.times && (!node.coin || this.#began(node.unit, value));
          if (!goesOn) return end;
        }
      }
      case "foreach":
        return this.#foreach(node, input, path);
    }
  }

  #foreach(node: FlowNode & { op: "foreach" }, input: Value, path: readonly string[]): End {
    this.#beside++;
    const ends = itemsOf(input, node.items).map((item) => this.#unit(node.unit, item, path));
    this.#beside--;
    const end = together(ends.map((each, index) => [String(index), each]));
    if (end.tag !== "ok") return end;
    const value = ends.map((each) => (each as { value: Value }).value);
    const key = [...path, node.unit.id].join(".");
    this.expected.lists.set(key, [...(this.expected.lists.get(key) ?? []), value]);
    if (this.#beside > 0) this.expected.beside.add(`list ${key}`);
    return { tag: "ok", value };
  }

  #unit(unit: Unit, input: Value, path: readonly string[]): End {
    const place = [...path, unit.id];
    const end = unit.kind === "step" ? this.#step(unit, input) : this.flow(unit, input, place);
    if (end.tag === "ok" || end.tag === "bail") {
      const key = place.join(".");
      if (this.#beside > 0) this.expected.beside.add(key);
      this.expected.steps.set(key, [...(this.expected.steps.get(key) ?? []), { input, output: end.value }]);
    }
    return end;
  }

  #step(def: StepDef, input: Value): End {
    const { expected } = this;
    const key = executionKey(def.id, input);
    expected.mayBegin.add(key);
    const answers = this.#oracle.answers(def.id, input);
    const read = def.reads === undefined ? undefined : expected.state[def.reads];
    if (this.#oracle.isUnknown(def.id, input)) return { tag: "failed", errors: [UNKNOWN_OUTCOME] };
    if (def.fails > def.retries) return { tag: "failed", errors: [`${def.id} fails`] };
    const rounds = Math.min(answers.length, def.suspends) + 1;
    if (def.counts)
      expected.state[countKey(def.id)] = ((expected.state[countKey(def.id)] as number) ?? 0) + rounds;
    if (answers.length < def.suspends) {
      expected.waiting.add(key);
      return { tag: "suspended" };
    }
    const output = outputOf(def, input, answers, read);
    if (def.sets !== undefined) {
      const value = (output as { n: number }).n;
      expected.state[def.sets] = value;
      if (this.#beside > 0) expected.loose.set(def.sets, [...(expected.loose.get(def.sets) ?? []), value]);
    }
    return { tag: def.bails ? "bail" : "ok", value: output };
  }

  /** A flow begins with its first step. */
  #began(unit: Unit, input: Value): boolean {
    let first: Unit = unit;
    while (first.kind === "flow") first = (first.nodes[0] as FlowNode & { op: "then" }).unit;
    return this.#oracle.began(first.id, input);
  }
}

/** One that failed fails the block, one that waits has it wait, and all outputs are its output. */
function together(ends: readonly (readonly [id: string, end: End])[]): End {
  const errors = ends.flatMap(([, end]) => (end.tag === "failed" ? end.errors : []));
  if (errors.length > 0) return { tag: "failed", errors };
  if (ends.some(([, end]) => end.tag === "suspended")) return { tag: "suspended" };
  return {
    tag: "ok",
    value: Object.fromEntries(ends.map(([id, end]) => [id, (end as { value: Value }).value])),
  };
}
