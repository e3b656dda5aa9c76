import type { Random } from "../random.ts";
import { type Decision, type FlowDef, type FlowNode, type StepDef, type Unit, unitsOf } from "./flow.ts";

export interface DrawFlowOptions {
  id?: string;
  /** Whether steps made from agents are among it. */
  agents?: boolean;
  /** No step or node that waits for a person. */
  unattended?: boolean;
  /** How long the longest sleep takes. */
  longestSleepMs?: number;
}

/** Where in a flow something is drawn. */
interface Place {
  depth: number;
  /** In a `foreach`: another execution of the same step may overwrite what it sets. */
  beside: boolean;
  /** Whether it may end its workflow. */
  mayBail: boolean;
  /** Keys of the state that were set before. */
  known: readonly string[];
}

const MAX_DEPTH = 3;
const MAX_STEPS = 14;

/** A workflow with all kinds of control flow, nested up to three deep. */
export function drawFlow(random: Random, options: DrawFlowOptions = {}): FlowDef {
  return new FlowDrawing(random, options).flow(
    { depth: 1, beside: false, mayBail: true, known: [] },
    options.id,
  );
}

class FlowDrawing {
  readonly #random: Random;
  readonly #options: DrawFlowOptions;
  #steps = 0;
  #flows = 0;
  #agents = 0;

  constructor(random: Random, options: DrawFlowOptions) {
    this.#random = random;
    this.#options = options;
  }

  flow(place: Place, id = `f${++this.#flows}`): FlowDef {
    const known = [...place.known];
    const nodes: FlowNode[] = [];
    const add = (node: FlowNode): void => {
      nodes.push(node);
      // What one of several executions set may be overwritten by another, so nothing after it reads it.
      if (!place.beside) known.push(...setBy(node));
    };
    add({ op: "then", unit: this.#step({ ...place, mayBail: false }) });
    for (let more = this.#random.between(0, place.depth === 1 ? 4 : 2); more > 0; more--)
      add(this.#node({ ...place, known }));
    return { kind: "flow", id, nodes };
  }

  #node(place: Place): FlowNode {
    const random = this.#random;
    const { longestSleepMs = 20_000 } = this.#options;
    const inner = { ...place, depth: place.depth + 1, mayBail: false };
    // In what is repeated, each execution of a step has another input: that is how the checks tell them apart.
    const mayBeEmpty = place.depth === 1;
    const op = random.weighted<FlowNode["op"]>([
      [20, "then"],
      [18, "parallel"],
      [14, "branch"],
      [14, "loop"],
      [14, "foreach"],
      [8, "map"],
      [12, "sleep"],
      [this.#options.agents && this.#agents < 2 ? 12 : 0, "agent"],
    ]);
    switch (op) {
      case "then":
        return { op, unit: this.#unit(place) };
      case "parallel":
        return { op, units: this.#units(inner) };
      case "branch":
        return { op, arms: this.#arms(inner, mayBeEmpty) };
      case "loop": {
        const type = random.pick(["dowhile", "dountil"] as const);
        return { op, type, unit: this.#unit(inner), times: random.between(1, 3), coin: random.chance(0.3) };
      }
      case "foreach": {
        const concurrency = random.weighted([
          [3, 1],
          [2, 2],
          [1, 3],
        ]);
        return {
          op,
          unit: this.#unit({ ...inner, beside: true }),
          items: random.between(mayBeEmpty ? 0 : 1, 4),
          concurrency,
        };
      }
      case "map":
        return { op, coin: random.chance(0.4) };
      case "sleep":
        return {
          op,
          ms: random.pick([0, 5, 300, longestSleepMs]),
          until: random.chance(0.3),
          computed: random.chance(0.4),
        };
      case "agent":
        this.#agents++;
        return { op, id: `a${this.#agents}`, asks: !this.#options.unattended && random.chance(0.4) };
    }
  }

  #arms(place: Place, mayBeEmpty: boolean): { when: Decision; unit: Unit }[] {
    const arms = this.#units(place).map((unit) => ({ when: this.#decision(), unit }));
    if (!mayBeEmpty) arms[0]!.when = { kind: "always" };
    return arms;
  }

  #decision(): Decision {
    return {
      kind: this.#random.weighted<Decision["kind"]>([
        [30, "even"],
        [30, "odd"],
        [20, "always"],
        [6, "never"],
        [20, "coin"],
        [1, "throws"],
      ]),
    };
  }

  #units(place: Place): Unit[] {
    return Array.from({ length: this.#random.between(1, 3) }, () => this.#unit(place));
  }

  #unit(place: Place): Unit {
    const nests = place.depth < MAX_DEPTH && this.#steps < MAX_STEPS && this.#random.chance(0.3);
    return nests ? this.flow({ ...place, depth: place.depth + 1 }) : this.#step(place);
  }

  #step({ beside, mayBail, known }: Place): StepDef {
    const random = this.#random;
    const id = `s${++this.#steps}`;
    const retries = random.chance(0.3) ? random.between(1, 2) : 0;
    return {
      kind: "step",
      id,
      suspends: this.#options.unattended || random.chance(0.78) ? 0 : random.between(1, 2),
      labelled: random.chance(0.3),
      retries,
      fails: random.weighted([
        [8, 0],
        [4, random.between(0, retries)],
        [0.4, retries + 1],
      ]),
      keeps: random.chance(0.3) ? random.between(1, 2) : 0,
      idempotent: !random.chance(0.2),
      counts: !beside && random.chance(0.3),
      sets: random.chance(0.4) ? `set-${id}` : undefined,
      reads: known.length > 0 && random.chance(0.4) ? random.pick(known) : undefined,
      bails: mayBail && random.chance(0.04),
    };
  }
}

/** The keys that have the same value after a node, in whatever order its parts were executed. */
function setBy(node: FlowNode): string[] {
  if (node.op === "foreach") return [];
  return [...unitsOf(node)].flatMap((unit) => {
    if (unit.kind === "flow") return unit.nodes.flatMap(setBy);
    const { sets, counts, id } = unit;
    return [...(sets === undefined ? [] : [sets]), ...(counts ? [countKey(id)] : [])];
  });
}

export function countKey(stepId: string): string {
  return `count-${stepId}`;
}

export function isCountKey(key: string): boolean {
  return key.startsWith("count-");
}

/** Whether a step reads how often another was executed: after a time travel, that is known to no interpreter. */
export function readsCounts({ nodes }: FlowDef): boolean {
  return nodes.some((node) =>
    [...unitsOf(node)].some((unit) =>
      unit.kind === "flow" ? readsCounts(unit) : unit.reads !== undefined && isCountKey(unit.reads),
    ),
  );
}
