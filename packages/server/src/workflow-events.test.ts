import { Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { foldWorkflow, type NumberedWorkflowChunk, type WorkflowProgress } from "@selvedge/protocol";
import { MastraClient } from "@selvedge/client-js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createServer } from "./server.ts";

const number = z.object({ n: z.number() });

function step(id: string, change: (n: number) => number = (n) => n + 1) {
  return createStep({
    id,
    inputSchema: number,
    outputSchema: number,
    execute: async ({ inputData: { n } }) => ({ n: change(n) }),
  });
}

const fail = (): number => {
  throw new Error("It broke.");
};

/** Every kind of control flow, with an approval in a nested workflow. */
function everything(last: (n: number) => number = (n) => n) {
  const approve = createStep({
    id: "approve",
    inputSchema: number,
    outputSchema: number,
    resumeSchema: z.object({ add: z.number() }),
    execute: async ({ inputData: { n }, resumeData, suspend }) =>
      resumeData ? { n: n + resumeData.add } : suspend({}),
  });
  const inner = createWorkflow({ id: "inner", inputSchema: number, outputSchema: number })
    .then(step("before"))
    .then(approve)
    .commit();
  return createWorkflow({ id: "everything", inputSchema: number, outputSchema: number })
    .then(step("first"))
    .parallel([step("left"), step("right")])
    .map(async ({ inputData }) => ({ n: (inputData.left?.n ?? 0) + (inputData.right?.n ?? 0) }))
    .branch([
      [async ({ inputData: { n } }) => n > 0, step("taken")],
      [async ({ inputData: { n } }) => n < 0, step("not-taken")],
    ])
    .map(async ({ inputData }) => ({ n: inputData.taken?.n ?? 0 }))
    .then(inner)
    .dountil(step("loop"), async ({ inputData: { n } }) => n > 12)
    .map(async ({ inputData: { n } }) => [{ n }, { n: n + 1 }, { n: n + 2 }])
    .foreach(step("each"), { concurrency: 2 })
    .map(async ({ inputData }) => ({ n: inputData.reduce((sum, { n }) => sum + n, 0) }))
    .sleep(5)
    .then(step("last", last))
    .commit();
}

async function served(workflow: ReturnType<typeof everything>) {
  const mastra = new Mastra({
    workflows: { everything: workflow },
    storage: new InMemoryStorage(),
    logger: silentLogger,
  });
  const server = createServer({ mastra });
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  return client.getWorkflow("everything");
}

/** Mappings have results and no events. */
const statuses = (steps: WorkflowProgress["steps"] = {}) =>
  Object.fromEntries(
    Object.entries(steps)
      .filter(([id]) => !id.startsWith("mapping_"))
      .map(([id, { status }]) => [id, status] as const)
      .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  );

/** What a reader of the events knows when they end. */
async function live(stream: AsyncIterable<NumberedWorkflowChunk>, run?: WorkflowProgress) {
  const known = run ?? { status: "pending", steps: {}, progress: {} };
  for await (const chunk of stream) foldWorkflow(known, chunk);
  return known;
}

describe("the description of a workflow", () => {
  test("has every step with its schemas, also in nested workflows, and one that names what is missing", async () => {
    const workflow = await served(everything());
    const { steps, allSteps, stepGraph } = await workflow.details();
    expect(Object.keys(steps)).toEqual([
      "first",
      "left",
      "right",
      "taken",
      "not-taken",
      "inner",
      "loop",
      "each",
      "last",
    ]);
    expect(allSteps["inner"]).toMatchObject({ isWorkflow: true });
    expect(allSteps["inner.approve"]).toMatchObject({
      id: "inner.approve",
      resumeSchema: { properties: { add: { type: "number" } } },
    });
    expect(stepGraph.map(({ type }) => type)).toContain("conditional");
  });

  test("is there for a workflow that is not committed, or names an agent that does not exist", async () => {
    const draft = createWorkflow({ id: "draft", inputSchema: number, outputSchema: number }).then(step("a"));
    const lost = createWorkflow({ id: "lost", inputSchema: number, outputSchema: number })
      .agent("nobody")
      .commit();
    const mastra = new Mastra({ workflows: { draft, lost }, logger: silentLogger });
    const server = createServer({ mastra });
    const response = await server.fetch(new Request("http://localhost/api/workflows"));
    expect(await response.json()).toMatchObject({
      draft: { stepGraph: [], steps: { a: { id: "a" } } },
      lost: { steps: { nobody: { id: "nobody" } } },
    });
  });
});

describe("the events of a run", () => {
  test.each([
    ["succeeds", undefined, "success"],
    ["fails", fail, "failed"],
  ] as const)("say the same as what is stored, in a run that %s", async (_, last, status) => {
    const workflow = await served(everything(last));
    const run = await workflow.createRun();
    const waiting = await live(await run.stream({ inputData: { n: 1 } }));
    const stored = await workflow.runById(run.runId);
    expect(waiting.status).toBe("suspended");
    expect(stored.status).toBe("suspended");
    expect(statuses(waiting.steps)).toEqual(statuses(stored.steps));
    const over = await live(
      await run.resumeStream({ step: "inner.approve", resumeData: { add: 1 } }),
      waiting,
    );
    const ended = await workflow.runById(run.runId);
    expect([over.status, ended.status]).toEqual([status, status]);
    expect(statuses(over.steps)).toEqual(statuses(ended.steps));
    expect(over.progress["each"]).toEqual({ completedCount: 3, totalCount: 3 });
  });

  test("continue under higher numbers when a run is executed again from a step", async () => {
    const workflow = await served(everything());
    const run = await workflow.createRun();
    await run.startAsync({ inputData: { n: 1 } });
    await run.resumeAsync({ step: "inner.approve", resumeData: { add: 1 } });
    const before = await workflow.runById(run.runId);
    expect(before.status).toBe("success");
    const follower = await run.observeStream({ offset: before.lastSeq!, follow: true });
    const again = await Array.fromAsync(await run.timeTravelStream({ step: "loop", inputData: { n: 20 } }));
    expect(again[0]!.seq).toBe(before.lastSeq! + 1);
    expect(again.at(-1)).toMatchObject({
      type: "workflow-finish",
      payload: { workflowStatus: "success" },
    });
    const seen: number[] = [];
    for await (const { seq } of follower) {
      seen.push(seq);
      if (seq === again.at(-1)!.seq) break;
    }
    expect(seen).toEqual(again.map(({ seq }) => seq));
    const after = await workflow.runById(run.runId);
    expect(after.result).not.toEqual(before.result);
    expect(after.lastSeq).toBe(again.at(-1)!.seq);
  });
});
