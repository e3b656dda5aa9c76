import { AgentError } from "@selvedge/client-js";
import { afterEach, describe, expect, it } from "vitest";
import { renderHook } from "./__fixtures__/render.ts";
import { servedWorkflow, type WorkflowPage as Page } from "./__fixtures__/served-workflow.ts";
import { withDocument } from "./__fixtures__/with-document.ts";
import { useWorkflowRun, type UseWorkflowRunResult } from "./index.ts";

withDocument();

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].reverse()) await close();
  open.clear();
});

async function world(until?: Promise<void>): Promise<Page> {
  const made = await servedWorkflow(until);
  open.add(() => made.close());
  return made;
}

async function show({ client }: Page, runId: string) {
  const seen: string[] = [];
  const rendered = renderHook(() =>
    useWorkflowRun({
      client,
      workflowId: "refund",
      runId,
      reconnect: { delayMs: 10 },
      onChunk: (chunk) => seen.push(`${chunk.seq} ${chunk.type}`),
    }),
  );
  open.add(() => rendered.unmount());
  await expect.poll(() => rendered.all.length).toBeGreaterThan(0);
  return { seen, now: (): UseWorkflowRunResult => rendered.current };
}

async function started({ client }: Page): Promise<string> {
  const run = await client.getWorkflow("refund").createRun();
  await run.start({ inputData: { order: "o-1" } });
  return run.runId;
}

const statuses = ({ run }: UseWorkflowRunResult) =>
  Object.fromEntries(Object.entries(run?.steps ?? {}).map(([id, { status }]) => [id, status]));

describe("useWorkflowRun", () => {
  it("shows a run from its start to its end, with what waits", async () => {
    const page = await world();
    const shown = await show(page, await started(page));
    await expect.poll(() => shown.now().run?.status).toBe("suspended");
    expect(statuses(shown.now())).toEqual({ find: "success", approve: "suspended" });
    expect(shown.now().suspended).toEqual([{ step: "approve", payload: { amount: 40 } }]);
    await shown.now().resume({ step: "approve", resumeData: { approved: true } });
    await expect.poll(() => shown.now().run?.result).toEqual({ approved: true });
    expect(statuses(shown.now())).toEqual({ find: "success", approve: "success" });
    expect(shown.now().suspended).toEqual([]);
  });

  it("shows the same after a reload, and what another tab does", async () => {
    const page = await world();
    const runId = await started(page);
    const first = await show(page, runId);
    await expect.poll(() => first.now().run?.status).toBe("suspended");
    const second = await show(page, runId);
    await expect.poll(() => second.now().run?.status).toBe("suspended");
    expect(statuses(second.now())).toEqual(statuses(first.now()));
    await second.now().resume({ step: "approve", resumeData: { approved: false } });
    await expect.poll(() => first.now().run?.result).toEqual({ approved: false });
    await expect.poll(() => second.now().run?.result).toEqual({ approved: false });
    await expect(second.now().resume({ step: "approve", resumeData: { approved: true } })).rejects.toSatisfy(
      (error) => AgentError.is(error),
    );
  });

  it("shows a step that was in flight when the run was opened", async () => {
    const found = Promise.withResolvers<void>();
    const page = await world(found.promise);
    const runId = await started(page);
    const first = await show(page, runId);
    await expect.poll(() => statuses(first.now())).toEqual({ find: "running" });
    const second = await show(page, runId);
    await expect.poll(() => statuses(second.now())).toEqual({ find: "running" });
    await second.now().refresh();
    expect(statuses(second.now())).toEqual({ find: "running" });
    found.resolve();
    await expect.poll(() => second.now().run?.status).toBe("suspended");
    expect(statuses(second.now())).toEqual({ find: "success", approve: "suspended" });
    expect(second.seen).toEqual(first.seen);
  });

  it("misses nothing while the server is away", async () => {
    const page = await world();
    const runId = await started(page);
    const shown = await show(page, runId);
    await expect.poll(() => shown.now().run?.status).toBe("suspended");
    await page.restart(async () => {
      await expect.poll(() => shown.now().connection).toBe("reconnecting");
      const run = await page.refund.createRun({ runId });
      await run.resume({ step: "approve", resumeData: { approved: true } });
    });
    await expect.poll(() => shown.now().connection, { timeout: 10_000 }).toBe("live");
    await expect.poll(() => shown.now().run?.result).toEqual({ approved: true });
    const numbers = shown.seen.map((line) => Number(line.split(" ")[0]));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(numbers.length);
  });

  it("keeps the objects of steps that did not change", async () => {
    const page = await world();
    const runId = await started(page);
    const shown = await show(page, runId);
    await expect.poll(() => shown.now().run?.status).toBe("suspended");
    await expect.poll(() => shown.now().run?.steps["find"]).toHaveProperty("endedAt");
    const find = shown.now().run?.steps["find"];
    await shown.now().resume({ step: "approve", resumeData: { approved: true } });
    await expect.poll(() => shown.now().run?.result).toBeDefined();
    expect(shown.now().run?.steps["find"]).toBe(find);
  });

  it("says that a run cannot be shown, and tries again when asked", async () => {
    const page = await world();
    const shown = await show(page, "later");
    await expect.poll(() => shown.now().status).toBe("error");
    expect(AgentError.is(shown.now().error, "not-found")).toBe(true);
    const run = await page.client.getWorkflow("refund").createRun({ runId: "later" });
    await run.start({ inputData: { order: "o-1" } });
    await shown.now().refresh();
    await expect.poll(() => shown.now().status).toBe("ready");
  });
});
