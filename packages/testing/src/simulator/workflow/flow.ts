/** A step that does what its definition says, and nothing else. */
export interface StepDef {
  kind: "step";
  id: string;
  /** How often it suspends before it ends. */
  suspends: number;
  /** Whether its suspensions have a label. */
  labelled: boolean;
  /** How many attempts fail, and how many more there may be after the first. */
  fails: number;
  retries: number;
  /** How many effects it keeps with `once`. */
  keeps: number;
  idempotent: boolean;
  /** Adds one to a key of the state in each execution that suspends or ends. */
  counts: boolean;
  /** A key of the state that it sets when it ends. */
  sets: string | undefined;
  /** A key of the state that is part of its output. */
  reads: string | undefined;
  bails: boolean;
}

/** A workflow. Its first node is always a step. */
export interface FlowDef {
  kind: "flow";
  id: string;
  nodes: FlowNode[];
}

export type Unit = StepDef | FlowDef;

/** `coin`: a function that answers differently when it is asked again. */
export type Decision = { kind: "even" | "odd" | "always" | "never" | "throws" } | { kind: "coin" };

export type FlowNode =
  | { op: "then"; unit: Unit }
  /** An agent, between a mapping to its prompt and one to a value. */
  | { op: "agent"; id: string; asks: boolean }
  | { op: "parallel"; units: Unit[] }
  | { op: "branch"; arms: { when: Decision; unit: Unit }[] }
  /** Ends after so many iterations, or, where a coin decides, at that many at the latest. */
  | { op: "loop"; type: "dowhile" | "dountil"; unit: Unit; times: number; coin: boolean }
  /** Over a list that a mapping makes before it. */
  | { op: "foreach"; unit: Unit; items: number; concurrency: number }
  /** `coin`: adds a number that is another one each time. */
  | { op: "map"; coin: boolean }
  | { op: "sleep"; ms: number; until: boolean; computed: boolean };

export type Value = unknown;

/** Parts of a value that differ between two executions that are otherwise the same. */
const LOOSE: ReadonlySet<string> = new Set(["kept", "fresh"]);

/** A number that stands for a value: the same for equal values, whatever the order of their keys. */
export function digest(value: Value): number {
  let hash = 0x811c9dc5;
  const text = canonical(value);
  for (let index = 0; index < text.length; index++)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  return hash;
}

/** JSON with sorted keys, without the parts that may differ. */
export function canonical(value: Value): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(([key, entry]) => entry !== undefined && !LOOSE.has(key));
  return `{${entries
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, entry]) => `${JSON.stringify(key)}:${canonical(entry)}`)
    .join()}}`;
}

/** What a step returns. */
export function outputOf(def: StepDef, input: Value, answers: readonly string[], read: Value): object {
  return { id: def.id, n: digest([def.id, input, answers, read ?? null]), answers };
}

export function promptOf(input: Value): string {
  return `prompt ${digest(input)}`;
}

/** What an agent is asked for, from whatever its model said in addition. */
export function answerOf(text: string): object {
  return { said: /answer to (\d+)/.exec(text)?.[1] ?? `nothing in ${text}` };
}

export function itemsOf(input: Value, count: number): object[] {
  return Array.from({ length: count }, (_, index) => ({ item: index, n: digest([input, index]) }));
}

export function decide(kind: Exclude<Decision["kind"], "coin" | "throws">, input: Value): boolean {
  if (kind === "always" || kind === "never") return kind === "always";
  return (digest(input) % 2 === 0) === (kind === "even");
}

/** How long a computed sleep takes. */
export function sleepOf(ms: number, input: Value): number {
  return ms + (digest(input) % 100);
}

export function* unitsOf(node: FlowNode): Generator<Unit> {
  if (node.op === "then" || node.op === "loop" || node.op === "foreach") yield node.unit;
  if (node.op === "parallel") yield* node.units;
  if (node.op === "branch") for (const { unit } of node.arms) yield unit;
}

/** The steps made from agents. */
export function* agentsOf(flow: FlowDef): Generator<FlowNode & { op: "agent" }> {
  for (const node of flow.nodes) {
    if (node.op === "agent") yield node;
    for (const unit of unitsOf(node)) if (unit.kind === "flow") yield* agentsOf(unit);
  }
}

/**
 * Steps that a run can be executed again from, as paths of ids. The choice of a branch is the definition's, and a `foreach`
 * without items executes nothing.
 */
export function* targetsOf(flow: FlowDef): Generator<string[]> {
  for (const node of flow.nodes) {
    if (node.op === "branch" || (node.op === "foreach" && node.items === 0)) continue;
    if (node.op === "agent") yield [node.id];
    for (const unit of unitsOf(node)) {
      yield [unit.id];
      if (unit.kind === "flow" && (node.op === "then" || node.op === "parallel"))
        for (const inner of targetsOf(unit)) yield [unit.id, ...inner];
    }
  }
}

/** Whether a step of it, at any depth, ends its workflow. */
export function mayBail(flow: FlowDef): boolean {
  return flow.nodes.some((node) =>
    [...unitsOf(node)].some((unit) => (unit.kind === "step" ? unit.bails : mayBail(unit))),
  );
}

/** The longest sleep in it, at any depth. */
export function longestSleep({ nodes }: FlowDef): number {
  const sleeps = nodes.flatMap((node) =>
    node.op === "sleep"
      ? [node.ms]
      : [...unitsOf(node)].map((unit) => (unit.kind === "flow" ? longestSleep(unit) : 0)),
  );
  return Math.max(0, ...sleeps);
}
