import type { FlowDef, FlowNode, StepDef, Unit } from "@selvedge/testing/simulator";

/** The flows that processes are killed in. */
export const FLOWS: Record<string, FlowDef> = {
  parallel: flow("parallel", [
    andThen(step("s1", { counts: true })),
    {
      op: "parallel",
      units: [step("s2", { keeps: 1 }), step("s3", { suspends: 1 }), step("s4", { fails: 1, retries: 1 })],
    },
    andThen(step("s5", { reads: "count-s1" })),
  ]),
  nested: flow("nested", [
    andThen(step("s1", { sets: "set-s1" })),
    andThen(
      flow("f1", [
        andThen(step("s2", { reads: "set-s1" })),
        andThen(
          flow("f2", [
            andThen(step("s3", { suspends: 2, counts: true })),
            { op: "map", coin: true },
            andThen(step("s4", {})),
          ]),
        ),
      ]),
    ),
    {
      op: "branch",
      arms: [
        { when: { kind: "coin" }, unit: step("s5", {}) },
        { when: { kind: "always" }, unit: step("s6", {}) },
      ],
    },
  ]),
  asleep: flow("asleep", [
    andThen(step("s1", {})),
    { op: "sleep", ms: 40, until: false, computed: true },
    { op: "loop", type: "dountil", unit: step("s2", { counts: true }), times: 3, coin: true },
    { op: "sleep", ms: 20, until: true, computed: false },
    andThen(step("s3", {})),
  ]),
  each: flow("each", [
    andThen(step("s1", {})),
    { op: "foreach", unit: step("s2", { keeps: 1 }), items: 5, concurrency: 2 },
    andThen(step("s3", { idempotent: false })),
  ]),
  agent: flow("agent", [
    andThen(step("s1", {})),
    { op: "agent", id: "a1", asks: true },
    andThen(step("s2", { sets: "set-s2" })),
  ]),
};

/** An effect that happens once, a sleep and a question in each item of a list, two of them at a time. */
export const MIXED: FlowDef = flow("mixed", [
  andThen(step("s1", { keeps: 1 })),
  {
    op: "foreach",
    unit: flow("f1", [
      andThen(step("s2", { keeps: 2 })),
      { op: "sleep", ms: 30, until: false, computed: true },
      andThen(step("s3", { suspends: 1, keeps: 1 })),
    ]),
    items: 3,
    concurrency: 2,
  },
  andThen(step("s4", { counts: true })),
]);

export function flow(id: string, nodes: FlowNode[]): FlowDef {
  return { kind: "flow", id, nodes };
}

/** Not called `then`: a module that exports it would be taken for a promise. */
export function andThen(unit: Unit): FlowNode {
  return { op: "then", unit };
}

export function step(id: string, does: Partial<StepDef>): StepDef {
  return {
    kind: "step",
    id,
    suspends: 0,
    labelled: false,
    fails: 0,
    retries: 0,
    keeps: 0,
    idempotent: true,
    counts: false,
    sets: undefined,
    reads: undefined,
    bails: false,
    ...does,
  };
}
