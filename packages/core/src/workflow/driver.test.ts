import { describe, expect, it } from "vitest";
import { Driver, type Stored, type Work } from "./driver.ts";
import type { ForeachNode, GraphScope, LoopNode, Member, Node } from "./graph.ts";
import { hasPlace, placesOf } from "./path.ts";
import { SchemaCache } from "./schema-cache.ts";

const step = (id: string): Member => ({ kind: "step", id, step: () => ({}) as never });
const parallel = (...members: Member[]): Node => ({ kind: "parallel", members });
const branch = (...members: Member[]): Node => ({ kind: "branch", members, conditions: [] });
const loop = (body: Member, type: LoopNode["type"] = "dountil"): Node => ({
  kind: "loop",
  body,
  type,
  condition: () => true,
});
const foreach = (body: Member, concurrency: ForeachNode["concurrency"] = 1): Node => ({
  kind: "foreach",
  body,
  concurrency,
});
const sleep = (id: string): Node => ({ kind: "sleep", id, sleep: { ms: 1 } });

function rules(nodes: readonly Node[], id = "w"): GraphScope {
  const graph = { nodes, places: placesOf(nodes) };
  const retryConfig = { attempts: 0, delay: 0 };
  const schemas = new SchemaCache();
  return { id, inputSchema: {}, graph, retryConfig, validateInputs: true, maxIterations: 5, schemas };
}

const nested = (id: string, ...nodes: Node[]): Member => ({ kind: "workflow", id, scope: rules(nodes, id) });

/** A driver whose journal is a map. `run` settles what is ready with a result per path, until nothing is. */
function drive(nodes: Node[], input: unknown = "in", journal = new Map<string, Stored>(), budget?: number) {
  const driver = new Driver(
    rules(nodes),
    input,
    (path) => journal.get(path),
    budget === undefined ? {} : { budget },
  );
  const done: string[] = [];
  const settle = (path: string, data: unknown): void => {
    const value = { data, ref: path };
    journal.set(path, { status: "success", value });
    done.push(path);
    driver.succeeded(path, value);
  };
  const ready = (): Work[] => driver.take().ready;
  const run = (results: (work: Work) => unknown = (work) => `${work.path}(${String(work.input.data)})`) => {
    for (let turn = ready(); turn.length > 0; turn = ready())
      for (const work of turn) {
        if (work.kind === "enter") driver.succeeded(work.path, work.input);
        else {
          const result = results(work);
          if (result === SUSPEND) {
            journal.set(work.path, { status: "suspended" });
            driver.suspends(work.path);
          } else if (result !== RUNNING) settle(work.path, result);
        }
      }
    return driver.state;
  };
  return { driver, journal, done, settle, ready, run };
}

const SUSPEND = Symbol("suspend");
const RUNNING = Symbol("running");
const paths = (works: readonly Work[]): string[] => works.map(({ path }) => path);

describe("the driver", () => {
  it("passes each output to the next step, and ends with the last", () => {
    const { run, done } = drive([step("a"), step("b")]);
    expect(run()).toEqual({ status: "success", result: { data: "b(a(in))", ref: "b" } });
    expect(done).toEqual(["a", "b"]);
  });

  it("runs the members of a block together and joins them by id", () => {
    const { ready, driver, settle } = drive([parallel(step("a"), nested("n", step("x"))), step("b")]);
    const first = ready();
    expect(paths(first)).toEqual(["a", "n"]);
    driver.succeeded("n", first[1]!.input);
    expect(paths(ready())).toEqual(["n/x"]);
    settle("n/x", 1);
    expect(ready()).toEqual([]);
    settle("a", 2);
    expect(ready()[0]).toMatchObject({
      path: "b",
      input: { data: { a: 2, n: 1 }, ref: { object: { a: "a", n: "n/x" } } },
    });
  });

  it("runs the chosen members of a branch, or none", () => {
    const some = drive([branch(step("a"), step("b"), step("c"))]);
    expect(some.run((work) => (work.kind === "branch" ? ["a", "c"] : work.path))).toMatchObject({
      result: { data: { a: "a", c: "c" } },
    });
    const none = drive([branch(step("a")), step("z")]);
    expect(none.run((work) => (work.kind === "branch" ? [] : work.input.data))).toMatchObject({
      result: { data: {} },
    });
  });

  it("repeats a step with its own output until the condition holds", () => {
    const { run, done } = drive([loop(step("a"))], 0);
    const state = run((work) =>
      work.kind === "loop" ? (work.input.data as number) >= 3 : (work.input.data as number) + 1,
    );
    expect(state).toEqual({ status: "success", result: { data: 3, ref: "a[3]" } });
    expect(done).toEqual(["a[1]", "?a[1]", "a[2]", "?a[2]", "a[3]", "?a[3]"]);
  });

  it("stops a loop without an end", () => {
    const { run } = drive([loop(step("a"), "dowhile")]);
    expect(run(() => true)).toMatchObject({
      status: "failed",
      error: { code: "limit-exceeded", message: expect.stringContaining('"a" was repeated 5 times') },
    });
  });

  it("carries out as many items as it may at once, and keeps their order", () => {
    const { ready, settle, driver } = drive([foreach(step("a"))], ["x", "y", "z"]);
    expect(paths(ready())).toEqual(["?a"]);
    settle("?a", { count: 3, concurrency: 2 });
    expect(paths(ready())).toEqual(["a[0]", "a[1]"]);
    settle("a[1]", 1);
    expect(ready()[0]).toMatchObject({ path: "a[2]", input: { data: "z", ref: { of: "", item: 2 } } });
    settle("a[2]", 2);
    settle("a[0]", 0);
    expect(driver.state).toEqual({
      status: "success",
      result: { data: [0, 1, 2], ref: { list: "a", count: 3 } },
    });
  });

  it("gives the place of a suspended item to the next, but not that of a sleeping one", () => {
    const { ready, settle, driver } = drive([foreach(nested("n", sleep("s"), step("a")))], [1, 2, 3]);
    ready();
    settle("?n", { count: 3, concurrency: 1 });
    driver.succeeded("n[0]", ready()[0]!.input);
    driver.waits("n[0]/s", 10);
    ready();
    expect(driver.state).toEqual({ status: "waiting", dueAt: 10 });
    settle("n[0]/s", 1);
    expect(paths(ready())).toEqual(["n[0]/a"]);
    driver.suspends("n[0]/a");
    expect(paths(ready())).toEqual(["n[1]"]);
  });

  it("lets siblings of a suspended step finish, and continues when all are done", () => {
    const { run, driver, settle } = drive([parallel(step("a"), step("b")), step("c")]);
    expect(run((work) => (work.path === "a" ? SUSPEND : 1))).toEqual({ status: "suspended" });
    expect(driver.suspended).toEqual(["a"]);
    driver.resume("a");
    expect(paths(driver.take().ready)).toEqual(["a"]);
    settle("a", 2);
    expect(paths(driver.take().ready)).toEqual(["c"]);
  });

  it("fails when what is in progress is done, and begins nothing more", () => {
    const { ready, settle, driver } = drive([parallel(step("a"), step("b")), step("c")]);
    ready();
    driver.failed("a", "no");
    expect(driver.isAtRest).toBe(false);
    settle("b", 1);
    expect(driver.isAtRest).toBe(true);
    expect(ready()).toEqual([]);
    expect(driver.state).toEqual({ status: "failed", path: "a", error: "no" });
  });

  it("ends the workflow of a stored step that bailed, whatever ran beside it", () => {
    const bailed: Stored = { status: "success", value: { data: "out", ref: "a" }, bailed: true };
    const journal = new Map<string, Stored>([["a", bailed]]);
    for (const members of [
      [step("a"), step("b")],
      [step("b"), step("a")],
    ]) {
      const { driver, run } = drive([parallel(...members), step("later")], "in", new Map(journal));
      run();
      expect(driver.state).toMatchObject({ status: "success", result: { data: "out" } });
    }
  });

  it("ends the workflow of a step that bails, and continues the outer one", () => {
    const inner = nested("n", parallel(step("a"), step("b"), nested("m", sleep("s"))), step("never"));
    const { ready, settle, driver } = drive([inner, step("z")]);
    driver.succeeded("n", ready()[0]!.input);
    driver.succeeded("n/m", ready()[2]!.input);
    ready();
    driver.waits("n/m/s", 5);
    driver.bailed("n/a", { data: "out" });
    expect(ready()).toEqual([]);
    settle("n/b", 1);
    expect(ready()).toMatchObject([{ path: "z", input: { data: "out" } }]);
  });

  it("executes one step at a time when asked to", () => {
    const { run, driver } = drive([step("a"), step("b")], "in", new Map(), 1);
    expect(run()).toEqual({ status: "paused" });
    driver.release(1);
    expect(run()).toMatchObject({ status: "success" });
  });

  it("finds its place again from the journal alone, wherever it was left", () => {
    const graph = [
      step("a"),
      parallel(step("b"), nested("n", step("x"), foreach(step("y")))),
      loop(step("c")),
      step("d"),
    ];
    const results = (work: Work): unknown => {
      if (work.kind === "foreach") return { count: 3, concurrency: 2 };
      if (work.kind === "loop") return work.iteration === 2;
      if (work.path === "n/x") return [1, 2, 3];
      return `${work.path}(${JSON.stringify(work.input.data)})`;
    };
    const whole = drive(graph);
    const expected = whole.run(results);
    for (let cut = 0; cut <= whole.done.length; cut++) {
      const kept = new Map(whole.done.slice(0, cut).map((path) => [path, whole.journal.get(path)!]));
      const again = drive(graph, "in", kept);
      expect(again.run(results)).toEqual(expected);
      expect(new Set([...again.done, ...whole.done.slice(0, cut)])).toEqual(new Set(whole.done));
    }
  });

  it("reads 10,000 stored iterations without a deep stack", () => {
    const journal = new Map<string, Stored>();
    const nodes = Array.from({ length: 10_000 }, (_, index) => step(`s${index}`));
    for (const { id } of nodes) journal.set(id, { status: "success", value: { data: id } });
    expect(drive(nodes, 0, journal).driver.state).toMatchObject({ result: { data: "s9999" } });
  });
});

describe("a place", () => {
  const graph = rules([
    step("a/b[1]"),
    nested("n", step("x")),
    loop(nested("l", step("y"))),
    foreach(step("f")),
    branch(step("p"), step("q")),
  ]).graph;

  it.each(["a%2Fb%5B1%5D", "n/x", "n", "l[3]/y", "?l[3]", "?f", "f[7]", "?p", "q"])(
    "is found: %s",
    (path) => {
      expect(hasPlace(graph, path)).toBe(true);
    },
  );

  it.each(["a", "n/y", "n[1]/x", "l/y", "f", "l", "a%2Fb%5B1%5D/x"])("is missed: %s", (path) => {
    expect(hasPlace(graph, path)).toBe(false);
  });
});
