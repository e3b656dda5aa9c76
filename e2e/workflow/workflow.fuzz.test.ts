import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Mastra, silentLogger } from "@selvedge/core";
import { AgentError } from "@selvedge/core/errors";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { z } from "zod";

// Calls that the compiler would refuse, from programs that it never saw.
type Loose = (...args: unknown[]) => Builder;
type Builder = Record<
  | "then"
  | "parallel"
  | "branch"
  | "dowhile"
  | "dountil"
  | "foreach"
  | "map"
  | "sleep"
  | "sleepUntil"
  | "commit",
  Loose
> & { createRun(options?: unknown): Promise<LooseRun> };
interface LooseRun {
  runId: string;
  start(options?: unknown): Promise<{ status: string; error?: unknown; result?: unknown }>;
  resume(options?: unknown): Promise<{ status: string }>;
}

const any = z.any();
const newWorkflow = (config: unknown): Builder =>
  (createWorkflow as unknown as (config: unknown) => Builder)(config);
const newStep = (config: unknown): unknown => (createStep as unknown as (config: unknown) => unknown)(config);

function hosted(workflow: unknown): { storage: InMemoryStorage; rows(): Promise<string> } {
  const storage = new InMemoryStorage();
  new Mastra({ workflows: { w: workflow as never }, storage, logger: silentLogger });
  return { storage, rows: () => rowsOf(storage) };
}

/** Everything that is stored about runs. */
async function rowsOf(storage: InMemoryStorage): Promise<string> {
  const { WORKFLOW_TABLES } = await import("./workflow-tables.ts");
  const all = await Promise.all(WORKFLOW_TABLES.map((table) => storage.select({ table })));
  return JSON.stringify(all);
}

/** The value of a call, or the error it ended with, which must be a typed one. */
async function typed<Value>(
  call: () => Value | Promise<Value>,
): Promise<{ value: Value } | { error: AgentError }> {
  try {
    return { value: await call() };
  } catch (error) {
    if (!AgentError.is(error)) throw new Error(`not a typed error: ${String(error)}`, { cause: error });
    return { error };
  }
}

const oddNumber = fc.oneof(
  fc.integer({ min: -3, max: 5 }),
  fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 1.5, -0),
);
const odd = fc.oneof(
  oddNumber,
  fc.constantFrom(undefined, null, "", "a", "a.b", {}, [], () => 1),
  fc.anything(),
);
const id = fc.oneof(
  fc.constantFrom("a", "b", "c", "", "a.b", "input", "__proto__", "constructor"),
  fc.string(),
  odd,
);

const part = fc.record({
  op: fc.constantFrom(
    "then",
    "parallel",
    "branch",
    "dowhile",
    "dountil",
    "foreach",
    "map",
    "sleep",
    "sleepUntil",
  ),
  ids: fc.array(id, { maxLength: 3 }),
  extra: odd,
  isOdd: fc.boolean(),
});

function addPart(workflow: Builder, { op, ids, extra, isOdd }: ReturnType<typeof sample>): Builder {
  const steps = ids.map((stepId) =>
    newStep({ id: stepId, inputSchema: any, outputSchema: any, execute: async () => ({ n: 1 }) }),
  );
  if (isOdd) return (workflow[op as keyof Builder] as Loose)(extra, extra);
  const first = steps[0] ?? extra;
  if (op === "then") return workflow.then(first);
  if (op === "parallel") return workflow.parallel(steps);
  if (op === "branch") return workflow.branch(steps.map((step) => [async () => extra, step]));
  // A loop that goes on while an odd value is true would go on for long.
  if (op === "dowhile") return workflow.dowhile(first, async () => false);
  if (op === "dountil") return workflow.dountil(first, async () => true);
  if (op === "foreach") return workflow.foreach(first, { concurrency: extra });
  if (op === "map") return workflow.map(async () => extra);
  // No test waits for long.
  const soon = typeof extra === "number" && extra > 5 ? 5 : extra;
  return op === "sleep" ? workflow.sleep(soon) : workflow.sleepUntil(soon);
}

function sample() {
  return fc.sample(part, 1)[0]!;
}

describe("workflows with arbitrary definitions and inputs", () => {
  it("run to an end or are refused with a typed error", async () => {
    await fc.assert(
      fc.asyncProperty(id, fc.array(part, { maxLength: 4 }), odd, async (name, parts, input) => {
        const built = await typed(() => {
          let workflow = newWorkflow({ id: name, inputSchema: any, outputSchema: any });
          for (const each of parts) workflow = addPart(workflow, each);
          // A workflow has a method `then`: it must not be what a promise resolves to.
          return [workflow.commit()] as const;
        });
        if ("error" in built) return;
        const [workflow] = built.value;
        const { rows } = hosted(workflow);
        const before = await rows();
        const ended = await typed(async () => (await workflow.createRun()).start({ inputData: input }));
        if ("error" in ended) expect(await rows()).toBe(before);
        else if (ended.value.status === "failed") expect(ended.value.error).toBeInstanceOf(Error);
        else expect(ended.value.status).toBe("success");
      }),
      { numRuns: 400 },
    );
  });

  it("refuse input that does not fit, and store nothing of it", async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (inputData, initialState) => {
        const io = { inputSchema: z.object({ n: z.number() }), outputSchema: any };
        const workflow = newWorkflow({ id: "w", ...io, stateSchema: z.object({ s: z.string().optional() }) });
        const step = newStep({ id: "s", ...io, execute: async () => ({ n: 1 }) });
        workflow.then(step).commit();
        const { rows } = hosted(workflow);
        const before = await rows();
        const ended = await typed(async () =>
          (await workflow.createRun()).start({ inputData, initialState }),
        );
        const fits =
          io.inputSchema.safeParse(inputData).success &&
          z.object({ s: z.string().optional() }).optional().safeParse(initialState).success;
        if ("error" in ended) {
          expect(ended.error.code).toBe("invalid-argument");
          expect(await rows()).toBe(before);
        } else expect(fits).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("leave a suspended run as it was when a resume does not fit", async () => {
    const io = { inputSchema: any, outputSchema: any };
    const resumeSchema = z.object({ ok: z.boolean() });
    const execute = async ({
      resumeData,
      suspend,
    }: {
      resumeData?: unknown;
      suspend(payload: unknown): unknown;
    }) => resumeData ?? suspend({ ask: 1 });
    const make = (stepId: string) => newStep({ id: stepId, ...io, resumeSchema, execute });
    const workflow = newWorkflow({ id: "w", ...io });
    workflow.parallel([make("a"), make("b")]).commit();
    const { rows } = hosted(workflow);
    const run = await workflow.createRun();
    await run.start({ inputData: {} });
    const before = await rows();
    const step = fc.oneof(fc.constantFrom("a", "b", ["a"], "c", "a.b"), fc.anything());
    const options = fc.record(
      {
        step,
        resumeData: fc.oneof(fc.constant({ ok: "yes" }), fc.anything()),
        label: odd,
        forEachIndex: odd,
      },
      { requiredKeys: [] },
    );
    await fc.assert(
      fc.asyncProperty(fc.oneof(options, odd), async (given) => {
        const data = (given as { resumeData?: unknown } | undefined)?.resumeData;
        fc.pre(!resumeSchema.safeParse(data).success);
        const resumed = await typed(() => run.resume(given));
        expect("error" in resumed).toBe(true);
        expect(await rows()).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  it("keep every value that can be stored, and name the place of one that cannot", async () => {
    const value = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
    });
    await fc.assert(
      fc.asyncProperty(value, async (output) => {
        const io = { inputSchema: any, outputSchema: any };
        const workflow = newWorkflow({ id: "w", ...io });
        let seen: unknown;
        workflow
          .then(newStep({ id: "a", ...io, execute: async () => ({ output }) }))
          .then(
            newStep({
              id: "b",
              ...io,
              execute: async ({ inputData }: { inputData: unknown }) => void (seen = inputData),
            }),
          )
          .commit();
        hosted(workflow);
        const run = await workflow.createRun();
        const ended = await run.start({ inputData: {} });
        if (ended.status === "success") expect(isDeepStrictEqual(seen, { output })).toBe(true);
        else expect(String(ended.error)).toMatch(/output/);
      }),
      { numRuns: 400 },
    );
  });
});
