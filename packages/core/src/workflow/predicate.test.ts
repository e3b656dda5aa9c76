import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createStep } from "./create-step.ts";
import {
  compilePredicate,
  describePredicate,
  type Predicate,
  type PredicateContext,
  toCondition,
} from "./predicate.ts";
import { createWorkflow } from "./workflow.ts";

const CONTEXT: PredicateContext = {
  inputData: {
    price: 20,
    name: "b",
    tags: ["x", "y"],
    none: null,
    gone: undefined,
    at: new Date(5),
    0: "zero",
  },
  state: { count: 3, flag: false },
  getInitData: () => ({ limit: 10 }),
  getStepResult: (id) => (id === "check" ? { ok: true } : id === "a.b" ? { n: 1 } : null),
};

const path = (at: string) => ({ path: at });
const literal = (value: string | number | boolean | null) => ({ literal: value });

describe("a predicate", () => {
  const CASES: [Predicate, boolean][] = [
    [{ op: "eq", left: path("inputData.price"), right: literal(20) }, true],
    [{ op: "eq", left: path("inputData.price"), right: literal("20") }, false],
    [{ op: "eq", left: path("inputData.none"), right: literal(null) }, true],
    [{ op: "ne", left: path("inputData.price"), right: literal(21) }, true],
    [{ op: "ne", left: path("inputData.price"), right: literal("20") }, true],
    [{ op: "ne", left: path("inputData.absent"), right: literal(1) }, false],
    [{ op: "lt", left: path("initData.limit"), right: path("inputData.price") }, true],
    [{ op: "lte", left: path("inputData.price"), right: literal(20) }, true],
    [{ op: "gt", left: path("inputData.price"), right: literal(19.5) }, true],
    [{ op: "gt", left: path("inputData.price"), right: literal("1") }, false],
    [{ op: "gte", left: path("inputData.name"), right: literal("a") }, true],
    [{ op: "gte", left: path("inputData.at"), right: path("inputData.at") }, true],
    [{ op: "gt", left: path("inputData.absent"), right: literal(0) }, false],
    [{ op: "in", value: path("inputData.name"), set: ["a", "b"] }, true],
    [{ op: "in", value: path("inputData.absent"), set: [null] }, false],
    [{ op: "notIn", value: path("inputData.name"), set: ["a"] }, true],
    [{ op: "notIn", value: path("inputData.absent"), set: ["a"] }, true],
    [{ op: "exists", path: "inputData.none" }, true],
    [{ op: "exists", path: "inputData.gone" }, false],
    [{ op: "exists", path: "inputData.tags.1" }, true],
    [{ op: "exists", path: "inputData.tags.2" }, false],
    [{ op: "exists", path: "inputData.constructor" }, false],
    [{ op: "exists", path: "inputData.__proto__" }, false],
    [{ op: "notExists", path: "stepResults.none" }, true],
    [{ op: "truthy", value: path("stepResults.check.ok") }, true],
    [{ op: "truthy", value: path("stepResults.a.b.n") }, true],
    [{ op: "truthy", value: path("inputData.absent") }, false],
    [{ op: "falsy", value: path("state.flag") }, true],
    [{ op: "falsy", value: path("inputData.absent") }, true],
    [{ op: "truthy", value: path("${state.count}") }, true],
    [{ op: "and", args: [] }, true],
    [{ op: "or", args: [] }, false],
    [
      {
        op: "and",
        args: [
          { op: "exists", path: "state" },
          { op: "exists", path: "state.none" },
        ],
      },
      false,
    ],
    [
      {
        op: "or",
        args: [
          { op: "exists", path: "state" },
          { op: "exists", path: "state.none" },
        ],
      },
      true,
    ],
    [{ op: "not", arg: { op: "exists", path: "state.none" } }, true],
  ];
  it.each(CASES)("%j is %s", (predicate, expected) => {
    expect(compilePredicate(predicate)(CONTEXT)).toBe(expected);
  });

  const BAD: [unknown, string][] = [
    [null, "predicate must be a predicate"],
    [{ op: "like" }, "predicate.op"],
    [{ op: "eq", left: path("inputData.a") }, "predicate.right"],
    [{ op: "eq", left: path("request.a"), right: literal(1) }, "predicate.left.path"],
    [{ op: "eq", left: path("inputData..a"), right: literal(1) }, "predicate.left.path"],
    [{ op: "eq", left: { literal: {} }, right: literal(1) }, "predicate.left.literal"],
    [{ op: "in", value: literal(1), set: "x" }, "predicate.set"],
    [{ op: "in", value: literal(1), set: [[1]] }, "predicate.set.0"],
    [{ op: "exists", path: "stepResults" }, "predicate.path"],
    [{ op: "and", args: [{ op: "not", arg: { op: "nor" } }] }, "predicate.args.0.arg.op"],
    [{ op: "or" }, "predicate.args"],
  ];
  it.each(BAD)("%j is refused with its place", (predicate, place) => {
    expect(() => compilePredicate(predicate)).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining(place) }),
    );
  });

  it("refuses one that is nested without end", () => {
    let deep: Predicate = { op: "exists", path: "state" };
    for (let level = 0; level < 30; level++) deep = { op: "not", arg: deep };
    expect(() => compilePredicate(deep)).toThrow("20 levels");
  });

  it("is shown in short", () => {
    const price: Predicate = { op: "gt", left: path("inputData.price"), right: literal(10) };
    const known: Predicate = { op: "in", value: path("state.kind"), set: ["a"] };
    const any: Predicate = { op: "or", args: [known, { op: "not", arg: { op: "exists", path: "state.x" } }] };
    expect(describePredicate({ op: "and", args: [price, any] })).toBe(
      `inputData.price > 10 and (state.kind in ["a"] or not state.x exists)`,
    );
  });

  it("can be given with its name, and functions stay as they are", () => {
    const predicate: Predicate = { op: "exists", path: "state.count" };
    expect(toCondition({ predicate })(CONTEXT as never)).toBe(true);
    const fn = async () => true;
    expect(toCondition(fn)).toBe(fn);
  });
});

describe("a predicate in a workflow", () => {
  const io = { inputSchema: z.object({ n: z.number() }), outputSchema: z.object({ n: z.number() }) };
  const add = (id: string, more: number) =>
    createStep({ id, ...io, execute: async ({ inputData }) => ({ n: inputData.n + more }) });
  const isSmall: Predicate = { op: "lt", left: path("inputData.n"), right: literal(10) };

  it("chooses branches and ends loops", async () => {
    const workflow = createWorkflow({ id: "w", inputSchema: io.inputSchema, outputSchema: z.any() })
      .dowhile(add("up", 4), { predicate: isSmall })
      .dountil(add("more", 1), { op: "gte", left: path("inputData.n"), right: literal(15) })
      .branch([
        [isSmall, add("small", 0)],
        [{ op: "gt", left: path("stepResults.up.n"), right: path("initData.n") }, add("large", 100)],
      ])
      .commit();
    const run = await workflow.createRun();
    expect(await run.start({ inputData: { n: 1 } })).toMatchObject({ result: { large: { n: 115 } } });
  });

  it("is text in the graph, and refused with its place", () => {
    const workflow = createWorkflow({ id: "w", ...io })
      .dowhile(add("up", 4), isSmall)
      .commit();
    expect(workflow.serializedStepGraph).toMatchObject([
      { type: "loop", serializedCondition: { fn: "inputData.n < 10" } },
    ]);
    const broken = { op: "like" } as never;
    expect(() => createWorkflow({ id: "w", ...io }).branch([[broken, add("up", 1)]])).toThrow("branch 0.op");
    expect(() => createWorkflow({ id: "w", ...io }).dountil(add("up", 1), broken)).toThrow("dountil()");
  });
});
