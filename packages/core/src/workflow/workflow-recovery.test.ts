import { describe, expect, it } from "vitest";
import { z } from "zod";
import { RequestContext } from "../request-context/request-context.ts";
import { createStep } from "./create-step.ts";
import { processes } from "./__fixtures__/processes.ts";
import { createWorkflow } from "./workflow.ts";

const n = z.object({ n: z.number() });
const LEASE_MS = 15_000;

/** A workflow whose steps report, and whose step `slow` never ends in the first process. */
function interrupted(options: { idempotent?: boolean } = {}) {
  const calls: string[] = [];
  const build = (process: string) => {
    const step = (id: string) =>
      createStep({
        id,
        inputSchema: n,
        outputSchema: n,
        execute: async ({ inputData }) => {
          calls.push(`${process} ${id}`);
          return { n: inputData.n + 1 };
        },
      });
    const slow = createStep({
      id: "slow",
      inputSchema: n,
      outputSchema: n,
      ...options,
      execute: async ({ inputData, restart, once }) => {
        calls.push(`${process} slow${restart ? " again" : ""}`);
        await once("charge", () => void calls.push(`${process} charge`));
        if (process === "first") await new Promise(() => {});
        return { n: inputData.n + 10 };
      },
    });
    return createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
      .then(step("a"))
      .then(slow)
      .then(step("b"))
      .commit();
  };
  return { calls, build };
}

describe("a process that dies in the middle of a run", () => {
  it("is followed by one that continues: no finished step again, no stored effect again", async () => {
    const { system, start } = processes();
    const { calls, build } = interrupted();
    const first = start("first", build("first"));
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    void run.start({ inputData: { n: 0 } });
    await system.advance(100);
    first.kill();
    const second = start("second", build("second"));
    await system.advance(LEASE_MS + 2_000);
    expect(calls).toEqual(["first a", "first slow", "first charge", "second slow again", "second b"]);
    const result = await second.mastra.getWorkflow("w").getWorkflowRunExecutionResult("r");
    expect(result).toMatchObject({ status: "success", result: { n: 12 } });
  });

  it.each(["right away", "when it is known to be dead"])(
    "is followed by one whose restart() brings the request context, called %s",
    async (when) => {
      const { system, start } = processes();
      const seen: unknown[] = [];
      const build = (process: string) =>
        createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
          .then(
            createStep({
              id: "slow",
              inputSchema: n,
              outputSchema: n,
              execute: async ({ inputData, requestContext }) => {
                seen.push([process, requestContext.get("key"), requestContext.get("tier")]);
                if (process === "first") await new Promise(() => {});
                return inputData;
              },
            }),
          )
          .commit();
      const first = start("first", build("first"));
      const began = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      const requestContext = new RequestContext([["key", "old"]]);
      void began.start({ inputData: { n: 0 }, requestContext });
      await system.advance(100);
      first.kill();
      if (when !== "right away") await system.advance(LEASE_MS + 2_000);
      const second = start("second", build("second"));
      const run = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
      const result = run.restart({
        requestContext: new RequestContext([
          ["key", "new"],
          ["tier", "gold"],
        ]),
      });
      expect(await system.until(result)).toMatchObject({ status: "success" });
      expect(seen).toEqual([
        ["first", "old", undefined],
        ["second", "new", "gold"],
      ]);
    },
  );

  it("keeps the durable values of a restart() for the process after the next", async () => {
    const { system, start } = processes();
    const seen: unknown[] = [];
    const build = (process: string) =>
      createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
        .then(
          createStep({
            id: "slow",
            inputSchema: n,
            outputSchema: n,
            execute: async ({ inputData, requestContext }) => {
              seen.push([process, requestContext.get("tenant"), requestContext.get("secret")]);
              if (process !== "third") await new Promise(() => {});
              return inputData;
            },
          }),
        )
        .commit();
    const first = start("first", build("first"));
    void (await first.mastra.getWorkflow("w").createRun({ runId: "r" })).start({ inputData: { n: 0 } });
    await system.advance(100);
    first.kill();
    await system.advance(LEASE_MS + 2_000);
    const second = start("second", build("second"));
    const run = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    const requestContext = new RequestContext([
      ["tenant", "acme"],
      ["secret", "token"],
    ]);
    void run.restart({ requestContext }).catch(() => {});
    await system.advance(LEASE_MS + 2_000);
    second.kill();
    start("third", build("third"));
    await system.advance(LEASE_MS + 2_000);
    expect(seen).toEqual([
      ["first", undefined, undefined],
      ["second", "acme", "token"],
      ["third", "acme", undefined],
    ]);
  });

  it("fails a step that must not run twice, and timeTravel() is the way on", async () => {
    const { system, start } = processes();
    const { calls, build } = interrupted({ idempotent: false });
    const first = start("first", build("first"));
    void (await first.mastra.getWorkflow("w").createRun({ runId: "r" })).start({ inputData: { n: 0 } });
    await system.advance(100);
    first.kill();
    const second = start("second", build("second"));
    await system.advance(LEASE_MS + 2_000);
    const workflow = second.mastra.getWorkflow("w");
    expect(await workflow.getWorkflowRunExecutionResult("r")).toMatchObject({
      status: "failed",
      error: { code: "step-outcome-unknown" },
    });
    expect(calls).toEqual(["first a", "first slow", "first charge"]);
    const run = await workflow.createRun({ runId: "r" });
    expect(await system.until(run.timeTravel({ step: "slow" }))).toMatchObject({
      status: "success",
      result: { n: 12 },
    });
  });

  it("cannot write any more, if it was only slow", async () => {
    const { system, start } = processes();
    const { build } = interrupted();
    const first = start("first", build("first"));
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    const result = run.start({ inputData: { n: 0 } });
    await system.advance(100);
    const goOn = first.pause();
    start("second", build("second"));
    await system.advance(LEASE_MS + 2_000);
    // It is back, and learns what became of its run.
    goOn();
    expect(await system.until(result)).toMatchObject({ status: "success", result: { n: 12 } });
  });

  it("leaves a run alone that no live process has the workflow of", async () => {
    const { system, start } = processes();
    const { calls, build } = interrupted();
    const first = start("first", build("first"));
    void (await first.mastra.getWorkflow("w").createRun({ runId: "r" })).start({ inputData: { n: 0 } });
    await system.advance(100);
    first.kill();
    const other = createWorkflow({ id: "other", inputSchema: n, outputSchema: n }).sleep(1).commit();
    start("second", other);
    await system.advance(60_000);
    expect(calls).toEqual(["first a", "first slow", "first charge"]);
  });

  it("every time is not tried without end", async () => {
    const { system, start } = processes();
    let begun = 0;
    const build = () => {
      const step = createStep({
        id: "deadly",
        inputSchema: n,
        outputSchema: n,
        execute: () => {
          begun++;
          return new Promise<{ n: number }>(() => {});
        },
      });
      return createWorkflow({ id: "w", inputSchema: n, outputSchema: n }).then(step).commit();
    };
    let process = start("p0", build());
    void (await process.mastra.getWorkflow("w").createRun({ runId: "r" })).start({ inputData: { n: 0 } });
    for (let count = 1; count <= 7; count++) {
      await system.advance(LEASE_MS + 2_000);
      process.kill();
      process = start(`p${count}`, build());
    }
    await system.advance(LEASE_MS + 2_000);
    const result = await process.mastra.getWorkflow("w").getWorkflowRunExecutionResult("r");
    expect(result).toMatchObject({ status: "failed", error: { code: "attempts-exhausted" } });
    expect(begun).toBe(5);
  });
});

describe("a process that lives", () => {
  const waiting = (calls: string[], name: string, finished: Promise<unknown>) => {
    const step = createStep({
      id: "slow",
      inputSchema: n,
      outputSchema: n,
      execute: async ({ inputData }) => {
        calls.push(name);
        await finished;
        return inputData;
      },
    });
    return createWorkflow({ id: "w", inputSchema: n, outputSchema: n }).then(step).commit();
  };

  it("keeps its run, however often another restarts it", async () => {
    const { system, start } = processes();
    const { promise, resolve } = Promise.withResolvers<void>();
    const calls: string[] = [];
    const [first, second] = ["first", "second"].map((name) => start(name, waiting(calls, name, promise)));
    const run = await first!.mastra.getWorkflow("w").createRun({ runId: "r" });
    const result = run.start({ inputData: { n: 1 } });
    await system.advance(1_000);
    await second!.mastra.start();
    const restarts: Promise<unknown>[] = [];
    for (let count = 0; count < 8; count++) {
      const other = await second!.mastra.getWorkflow("w").createRun({ runId: "r" });
      restarts.push(other.restart());
      await system.advance(LEASE_MS / 2);
    }
    expect(calls).toEqual(["first"]);
    resolve();
    for (const ended of [result, ...restarts])
      expect(await system.until(ended)).toMatchObject({ status: "success", result: { n: 1 } });
    expect(calls).toEqual(["first"]);
  });

  it("may close in the middle of a step, which is no failed attempt", async () => {
    const { system, start } = processes();
    const calls: string[] = [];
    let process = start("p0", waiting(calls, "p0", new Promise(() => {})));
    const run = await process.mastra.getWorkflow("w").createRun({ runId: "r" });
    void run.start({ inputData: { n: 1 } }).catch(() => {});
    for (let count = 1; count <= 7; count++) {
      await system.advance(1_000);
      await system.until(process.mastra.close());
      const finished = count === 7 ? Promise.resolve() : new Promise(() => {});
      process = start(`p${count}`, waiting(calls, `p${count}`, finished));
      await process.mastra.start();
    }
    await system.advance(LEASE_MS + 2_000);
    expect(calls).toEqual(["p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"]);
    expect(await process.mastra.getWorkflow("w").getWorkflowRunExecutionResult("r")).toMatchObject({
      status: "success",
    });
  });
});

describe("a sleeping run", () => {
  const nap = (ms: number) => {
    const step = createStep({
      id: "a",
      inputSchema: n,
      outputSchema: n,
      execute: async ({ inputData }) => inputData,
    });
    return createWorkflow({ id: "w", inputSchema: n, outputSchema: n }).sleep(ms).then(step).commit();
  };
  const HOUR = 3_600_000;

  it("needs no process, and continues in whichever one is there", async () => {
    const { system, start } = processes();
    const first = start("first", nap(3 * HOUR));
    await (await first.mastra.getWorkflow("w").createRun({ runId: "r" })).startAsync({ inputData: { n: 1 } });
    await system.advance(1_000);
    expect(await first.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({ status: "waiting" });
    first.kill();
    await system.advance(2 * HOUR);
    const second = start("second", nap(3 * HOUR));
    await system.advance(HOUR + 2_000);
    expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({ status: "success" });
  });

  it("shares one timer with all others", async () => {
    const { system, start } = processes();
    const { mastra } = start("p", nap(HOUR));
    await mastra.start();
    await system.advance(10);
    const before = system.pending;
    for (let index = 0; index < 200; index++)
      await (await mastra.getWorkflow("w").createRun()).startAsync({ inputData: { n: 1 } });
    await system.advance(10);
    expect(system.pending).toBeLessThanOrEqual(before + 3);
  });

  it("is waited for by its caller, for hours", async () => {
    const { system, start } = processes();
    const { mastra } = start("p", nap(2 * HOUR));
    const result = (await mastra.getWorkflow("w").createRun()).start({ inputData: { n: 1 } });
    expect(await system.until(result)).toMatchObject({ status: "success" });
  });
});

describe("a workflow that changed under a stored run", () => {
  const step = (id: string, suspends = false) =>
    createStep({
      id,
      inputSchema: n,
      outputSchema: n,
      execute: async ({ inputData, resumeData, suspend }) =>
        suspends && !resumeData ? suspend({}) : { n: inputData.n + 1 },
    });
  const before = () =>
    createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
      .then(step("a"))
      .then(step("b", true))
      .commit();

  it("is continued by step ids, with new steps around them", async () => {
    const { system, start } = processes();
    const first = start("first", before());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: { n: 0 } }));
    const after = createWorkflow({ id: "w", inputSchema: n, outputSchema: n })
      .then(step("a"))
      .then(step("b", true))
      .map(async ({ inputData }) => inputData)
      .then(step("c"))
      .commit();
    const again = await start("second", after).mastra.getWorkflow("w").createRun({ runId: "r" });
    expect(await system.until(again.resume({ resumeData: {} }))).toMatchObject({ result: { n: 3 } });
  });

  it("is refused if a step is missing, and the run is unchanged", async () => {
    const { system, start } = processes();
    const first = start("first", before());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: { n: 0 } }));
    const after = createWorkflow({ id: "w", inputSchema: n, outputSchema: n }).then(step("b", true)).commit();
    const again = await start("second", after).mastra.getWorkflow("w").createRun({ runId: "r" });
    await expect(again.resume({ resumeData: {} })).rejects.toMatchObject({
      code: "conflict",
      message: expect.stringContaining("lacks or has changed: a."),
    });
    expect(await system.until(run.resume({ resumeData: {} }))).toMatchObject({ result: { n: 2 } });
  });
});
