import {
  canonical,
  countKey,
  decide,
  digest,
  drawFlow,
  executionKey,
  type FlowDef,
  type FlowNode,
  interpretFlow,
  itemsOf,
  outputOf,
  Random,
  type StepDef,
  type Unit,
} from "@selvedge/testing/simulator";
import { describe, expect, it } from "vitest";
import { Driver, type Stored, type Work } from "./driver.ts";
import type { GraphScope, Member, Node } from "./graph.ts";
import { placesOf } from "./path.ts";
import type { Value } from "./ref.ts";
import { SchemaCache } from "./schema-cache.ts";

/** A flow as the graph that its builder would make, with the definition of each node. */
function graphOf(flow: FlowDef, defs: Map<Node, FlowNode>, steps: Map<string, StepDef>): GraphScope {
  const member = (unit: Unit): Member => {
    if (unit.kind === "flow") return { kind: "workflow", id: unit.id, scope: graphOf(unit, defs, steps) };
    steps.set(unit.id, unit);
    return { kind: "step", id: unit.id, step: () => ({}) as never };
  };
  const map = (id: string): Node => ({ kind: "map", id, map: () => {}, source: "" });
  const nodes = flow.nodes.flatMap((def, index): Node[] => {
    const id = `n${index}`;
    const made = ((): Node[] => {
      switch (def.op) {
        case "then":
          return [member(def.unit)];
        case "parallel":
          return [{ kind: "parallel", members: def.units.map(member) }];
        case "branch":
          return [{ kind: "branch", members: def.arms.map(({ unit }) => member(unit)), conditions: [] }];
        case "loop":
          return [{ kind: "loop", body: member(def.unit), type: def.type, condition: () => true }];
        case "foreach":
          return [map(id), { kind: "foreach", body: member(def.unit), concurrency: def.concurrency }];
        case "sleep":
          return [{ kind: "sleep", id, sleep: { ms: def.ms } }];
        default:
          return [map(id)];
      }
    })();
    for (const node of made) defs.set(node, def);
    return made;
  });
  const graph = { nodes, places: placesOf(nodes) };
  return {
    id: flow.id,
    inputSchema: {},
    graph,
    retryConfig: { attempts: 0, delay: 0 },
    validateInputs: true,
    maxIterations: 100,
    schemas: new SchemaCache(),
  };
}

class Throws extends Error {}

/** Carries out a flow with the driver alone; whoever crashes goes on from the journal. */
class Carrier {
  readonly #random: Random;
  readonly #rules: GraphScope;
  readonly #defs = new Map<Node, FlowNode>();
  readonly #steps = new Map<string, StepDef>();
  readonly #input: unknown;
  readonly #journal = new Map<string, Stored & { answers?: string[] }>();
  readonly began: Map<string, string[]> = new Map();
  readonly state: Record<string, unknown> = {};
  #ready: Work[] = [];
  #driver!: Driver;
  crashes = 0;

  constructor(flow: FlowDef, input: unknown, random: Random) {
    this.#random = random;
    this.#input = input;
    this.#rules = graphOf(flow, this.#defs, this.#steps);
    this.#begin();
  }

  get result(): Driver["state"] {
    return this.#driver.state;
  }

  #begin(): void {
    this.#driver = new Driver(this.#rules, this.#input, (path) => this.#journal.get(path));
    this.#ready = [];
  }

  run(crashRate: number): void {
    for (let turns = 0; turns < 10_000; turns++) {
      const { ready, closed } = this.#driver.take();
      this.#ready.push(...ready);
      for (const { path, output } of closed) this.#journal.set(path, { status: "success", value: output });
      if (this.#ready.length === 0) {
        if (!this.#wakesOrResumes()) return;
        continue;
      }
      const [work] = this.#ready.splice(this.#random.between(0, this.#ready.length - 1), 1);
      const tell = this.#perform(work!);
      if (!this.#random.chance(crashRate)) tell();
      else {
        this.crashes++;
        this.#begin();
      }
    }
    throw new Error("It does not end.");
  }

  #wakesOrResumes(): boolean {
    const due = this.#driver.due(Number.POSITIVE_INFINITY);
    if (due.length > 0) {
      const { path, input } = this.#random.pick(due);
      this.#settle(path, input)();
      return true;
    }
    const { suspended } = this.#driver;
    if (suspended.length === 0 || this.result.status !== "suspended") return false;
    const path = this.#random.pick(suspended);
    const answers = [...(this.#journal.get(path)?.answers ?? []), `answer-${this.#random.between(1, 1e6)}`];
    this.#journal.set(path, { status: "ready", answers });
    this.#driver.resume(path);
    return true;
  }

  #settle(path: string, value: Value): () => void {
    this.#journal.set(path, { status: "success", value });
    return () => this.#driver.succeeded(path, value);
  }

  #fail(path: string, error: Error): () => void {
    this.#journal.set(path, { status: "failed", error });
    return () => this.#driver.failed(path, error);
  }

  /** Does it, writes it down, and returns how the driver is told. */
  #perform(work: Work): () => void {
    const { path, input } = work;
    const own = (data: unknown): (() => void) => this.#settle(path, { data, ref: path });
    if (work.kind === "enter") return () => this.#driver.succeeded(path, input);
    if (work.kind === "step") return this.#execute(work.node.id, path, input);
    const def = this.#defs.get(work.node)!;
    switch (def.op) {
      case "map":
        return own({ mapped: digest(input.data) });
      case "foreach":
        return own(
          work.kind === "map"
            ? itemsOf(input.data, def.items)
            : { count: def.items, concurrency: def.concurrency },
        );
      case "sleep":
        this.#journal.set(path, { status: "waiting", dueAt: 1 });
        return () => this.#driver.waits(path, 1);
      case "branch": {
        const thrown = def.arms.find(({ when }) => when.kind === "throws");
        if (thrown) return this.#fail(path, new Throws(`condition of ${thrown.unit.id} throws`));
        const chosen = def.arms.filter(({ when }) =>
          when.kind === "coin"
            ? this.#random.chance(0.5)
            : when.kind !== "throws" && decide(when.kind, input.data),
        );
        return own(chosen.map(({ unit }) => unit.id));
      }
      case "loop": {
        const { iteration } = work as Work & { kind: "loop" };
        const goesOn = iteration < def.times && (!def.coin || this.#random.chance(0.5));
        return own(goesOn === (def.type === "dowhile"));
      }
      default:
        throw new Error(`no work for ${def.op}`);
    }
  }

  #execute(id: string, path: string, input: Value): () => void {
    const def = this.#steps.get(id)!;
    const answers = this.#journal.get(path)?.answers ?? [];
    this.began.set(executionKey(id, input.data), answers);
    if (def.fails > def.retries) return this.#fail(path, new Throws(`${id} fails`));
    if (def.counts) this.state[countKey(id)] = ((this.state[countKey(id)] as number) ?? 0) + 1;
    if (answers.length < def.suspends) {
      this.#journal.set(path, { status: "suspended", answers });
      return () => this.#driver.suspends(path);
    }
    const read = def.reads === undefined ? undefined : this.state[def.reads];
    const output = outputOf(def, input.data, answers, read);
    if (def.sets !== undefined) this.state[def.sets] = (output as { n: number }).n;
    return this.#settle(path, { data: output, ref: path });
  }
}

describe("the driver", () => {
  it.each([
    { crashes: 0, seeds: 1_000 },
    { crashes: 0.1, seeds: 2_000 },
    { crashes: 0.4, seeds: 1_000 },
  ])("leads where the plain interpreter does, in $seeds flows with $crashes crashes per result", (each) => {
    let crashes = 0;
    for (let seed = 1; seed <= each.seeds; seed++) {
      const random = new Random(seed);
      const flow = withoutBail(drawFlow(random, { id: "w" }));
      const carrier = new Carrier(flow, { n: seed }, random);
      carrier.run(each.crashes);
      crashes += carrier.crashes;
      const expected = interpretFlow(
        flow,
        { n: seed },
        {
          answers: (id, input) => carrier.began.get(executionKey(id, input)) ?? [],
          began: (id, input) => carrier.began.has(executionKey(id, input)),
          isUnknown: () => false,
          agentWaits: () => false,
        },
      );
      const { result } = carrier;
      const about = `seed ${seed}`;
      expect(result.status, about).toBe(expected.status);
      if (result.status === "success")
        expect(canonical(result.result.data), about).toBe(canonical(expected.result));
      if (result.status === "failed")
        expect([...expected.errors], about).toContain((result.error as Error).message);
      for (const name of carrier.began.keys())
        expect(expected.mayBegin.has(name), `${about} ${name}`).toBe(true);
      if (result.status !== "success") continue;
      for (const [key, value] of Object.entries(expected.state))
        expect([value, ...(expected.loose.get(key) ?? [])], `${about} ${key}`).toContain(carrier.state[key]);
    }
    expect(crashes > 0).toBe(each.crashes > 0);
  });
});

function withoutBail(flow: FlowDef): FlowDef {
  return JSON.parse(JSON.stringify(flow).replaceAll('"bails":true', '"bails":false')) as FlowDef;
}
