import { describe, expect, it } from "vitest";
import { z } from "zod";
import { processes } from "./__fixtures__/processes.ts";
import { createStep } from "./create-step.ts";
import { fromStoredEvent, type StoredEvent } from "./logged-event.ts";
import { fromLogged, type LoggedResult } from "./logged-result.ts";
import { pathsOf } from "./ref.ts";
import type { ExecuteParams } from "./step.ts";
import { createWorkflow } from "./workflow.ts";
import { WORKFLOW_MAIL, WORKFLOW_STEPS } from "./workflow-tables.ts";

const any = z.any();
const step = (id: string, execute: (params: ExecuteParams) => unknown = ({ inputData }) => inputData) =>
  createStep({ id, inputSchema: any, outputSchema: any, execute: async (params) => execute(params) });
const flow = (id = "w") => createWorkflow({ id, inputSchema: any, outputSchema: any });

/** A workflow with a step that ends when it is told to, beside one that suspends. */
function beside() {
  const { promise, resolve } = Promise.withResolvers<void>();
  const calls: string[] = [];
  const build = (name: string) =>
    flow()
      .parallel([
        step("slow", async ({ abortSignal }) => {
          calls.push(`${name} slow`);
          abortSignal.addEventListener("abort", () => calls.push(`${name} aborted`));
          await promise;
          return "slow";
        }),
        step("gate", ({ resumeData, suspend }) => {
          calls.push(`${name} gate`);
          return resumeData ?? suspend({});
        }),
      ])
      .then(step("last", ({ inputData }) => inputData))
      .commit();
  return { build, calls, finish: resolve };
}

describe("two processes with one store", () => {
  it("resume a step while its sibling runs in the other, which executes both once", async () => {
    const { system, start } = processes();
    const { build, calls, finish } = beside();
    const first = start("first", build("first"));
    const second = start("second", build("second"));
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    const result = run.start({ inputData: 1 });
    await system.advance(100);
    const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    const resumed = other.resume({ resumeData: "ok" });
    await system.advance(2_000);
    finish();
    const expected = { status: "success", result: { slow: "slow", gate: "ok" } };
    expect(await system.until(result)).toMatchObject(expected);
    expect(await system.until(resumed)).toMatchObject(expected);
    expect(calls).toEqual(["first slow", "first gate", "first gate"]);
  });

  it("give a nested step its input when it is resumed while another process takes up the run", async () => {
    const { system, start } = processes();
    const never = new Promise<never>(() => {});
    const build = (name: string) => {
      const item = createWorkflow({ id: "item", inputSchema: any, outputSchema: any })
        .then(step("double", ({ inputData }) => inputData * 2))
        .then(
          step("gate", ({ inputData, resumeData, suspend }) =>
            resumeData === undefined ? suspend({}) : [inputData, resumeData],
          ),
        )
        .commit();
      return flow()
        .parallel([item, step("slow", () => (name === "first" ? never : "slow"))])
        .commit();
    };
    const first = start("first", build("first"));
    const started = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await started.startAsync({ inputData: 4 });
    await system.advance(1_000);
    first.kill();
    const second = start("second", build("second"));
    const select = second.driver.select.bind(second.driver);
    let mailReads = 0;
    second.driver.select = async (queries) => {
      // It has the run, has read it, and is about to read its mail.
      if (queries[0]?.table === WORKFLOW_MAIL && queries[0].where?.["run_id"] === "r" && ++mailReads === 2) {
        const third = start("third", build("third"));
        const run = await third.mastra.getWorkflow("w").createRun({ runId: "r" });
        await run.resumeAsync({ step: "item.gate", resumeData: "ok" });
      }
      return select(queries);
    };
    await second.mastra.start();
    await system.advance(60_000);
    expect(mailReads).toBeGreaterThan(1);
    expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
      status: "success",
      result: { item: [8, "ok"], slow: "slow" },
    });
  });

  it("decide between a start and a cancellation at the same moment once, whichever is first", async () => {
    for (const order of ["start", "cancel"] as const) {
      const { system, start } = processes();
      const calls: string[] = [];
      const build = () =>
        flow()
          .then(step("a", () => calls.push("a")))
          .then(step("b", () => calls.push("b")))
          .commit();
      const first = start("first", build());
      const second = start("second", build());
      const own = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
      // Both have read the store before either writes to it.
      const letGo = [first.pause(), second.pause()];
      const started = own.start({ inputData: 1 });
      const canceled = other.cancel();
      await system.advance(10);
      for (const go of order === "start" ? letGo : letGo.toReversed()) {
        go();
        await system.advance(1);
      }
      await system.until(canceled);
      const { status } = (await system.until(started)) as { status: string };
      const stored = await first.mastra.getWorkflow("w").getWorkflowRunById("r");
      expect(stored?.status).toBe(status);
      if (order === "cancel") expect([status, calls]).toEqual(["canceled", []]);
    }
  });

  it("honour a cancellation that was stored for a process that died, also if the run cannot continue", async () => {
    const { system, start } = processes();
    const never = () => new Promise(() => {});
    const first = start("first", flow().then(step("a")).then(step("old", never)).commit());
    void (await first.mastra.getWorkflow("w").createRun({ runId: "r" }))
      .start({ inputData: 1 })
      .catch(() => {});
    await system.advance(100);
    first.kill();
    // Step "a" is gone from its definition.
    const second = start("second", flow().then(step("new")).commit());
    const run = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.cancel());
    await system.advance(60_000);
    expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
      status: "canceled",
    });
  });

  it("take an answer for the question it was for, not for the next one of the same step", async () => {
    const { system, start } = processes();
    const answers: unknown[] = [];
    const build = () =>
      flow()
        .then(
          step("gate", ({ resumeData, suspend }) => {
            if (resumeData !== undefined) answers.push(resumeData);
            return answers.length < 2 ? suspend({ question: answers.length }) : answers;
          }),
        )
        .commit();
    const first = start("first", build());
    const second = start("second", build());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: 1 }));
    const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    // The second has read the first question when the first answers it and the step asks the next.
    const commit = second.driver.commit.bind(second.driver);
    let isLate = false;
    second.driver.commit = async (commits) => {
      if (!isLate) {
        isLate = true;
        expect(await run.resume({ resumeData: "one" })).toMatchObject({ status: "suspended" });
      }
      return commit(commits);
    };
    const late = other.resume({ resumeData: "also one" }).catch((error: unknown) => error);
    expect(await system.until(late)).toMatchObject({ code: "already-decided" });
    expect(await system.until(other.resume({ resumeData: "two" }))).toMatchObject({ result: ["one", "two"] });
  });

  it("cancel a run of the other, whose steps are told and start nothing more", async () => {
    const { system, start } = processes();
    const { build, calls, finish } = beside();
    const first = start("first", build("first"));
    const second = start("second", build("second"));
    const result = (await first.mastra.getWorkflow("w").createRun({ runId: "r" })).start({ inputData: 1 });
    await system.advance(100);
    await (await second.mastra.getWorkflow("w").createRun({ runId: "r" })).cancel();
    // Accepted means stored: even if the notice is late, the next commit finds it.
    finish();
    expect(await system.until(result)).toMatchObject({ status: "canceled" });
    await system.advance(5_000);
    expect(calls).not.toContain("second slow");
    expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
      status: "canceled",
    });
  });

  it("resume at the same moment: one execution, one refusal", async () => {
    for (let round = 0; round < 20; round++) {
      const { system, start } = processes();
      let executed = 0;
      const build = () =>
        flow()
          .then(step("gate", ({ resumeData, suspend }) => (resumeData ? ++executed : suspend({}))))
          .commit();
      const [first, second] = [start("first", build()), start("second", build())];
      const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      await system.until(run.start({ inputData: 1 }));
      const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
      const both = Promise.allSettled([run.resume({ resumeData: 1 }), other.resume({ resumeData: 2 })]);
      const outcomes = await system.until(both);
      expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
      expect(executed).toBe(1);
    }
  });

  it("read the same numbered events, wherever the run is carried out", async () => {
    const { system, start } = processes();
    const build = () =>
      flow()
        .then(step("a", () => ({ big: "x" })))
        .then(step("b", ({ inputData }) => inputData))
        .commit();
    const first = start("first", build());
    const second = start("second", build());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: { in: 1 } }));
    const read = async (mastra: typeof first.mastra) => {
      const chunks: unknown[] = [];
      const observed = (await mastra.getWorkflow("w").createRun({ runId: "r" })).observeStream();
      await system.until(
        (async () => {
          for await (const chunk of observed) chunks.push(chunk);
        })(),
      );
      return chunks;
    };
    const here = await read(first.mastra);
    expect(await read(second.mastra)).toEqual(here);
    expect(here).toMatchObject([
      { seq: 1 },
      { seq: 2, payload: { payload: { in: 1 } } },
      { seq: 3, payload: { output: { big: "x" } } },
      { seq: 4 },
      { seq: 5, payload: { payload: { big: "x" } } },
      { seq: 6 },
      { seq: 7 },
      { seq: 8, payload: { finalWorkflowResult: { big: "x" } } },
    ]);
  });
});

describe("the events of a long run", () => {
  it("have values from far before them, wherever another process begins to read", async () => {
    const { system, start } = processes();
    const items = Array.from({ length: 100 }, (_, index) => index);
    const build = () =>
      flow()
        .then(step("list", () => items))
        .foreach(
          flow("each")
            .then(step("double", ({ inputData }) => ({ double: inputData * 2 })))
            .commit(),
        )
        .then(step("after", ({ inputData }) => inputData.length))
        .commit();
    const first = start("first", build());
    const second = start("second", build());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: 1 }));
    const observed = (await second.mastra.getWorkflow("w").createRun({ runId: "r" })).observeStream();
    const chunks: any[] = [];
    await system.until(
      (async () => {
        for await (const chunk of observed) chunks.push(chunk);
      })(),
    );
    const before = chunks.findLast(({ type, payload }) => type.endsWith("-start") && payload.id === "after");
    expect(before.payload.payload).toEqual(items.map((item) => ({ double: item * 2 })));
    const late = (await second.mastra.getWorkflow("w").createRun({ runId: "r" })).observeStream({
      offset: before.seq - 1,
    });
    for await (const chunk of late) {
      expect(chunk).toEqual(before);
      break;
    }
  });
});

describe("a time travel", () => {
  it("drops what the run executed since the travel was decided", async () => {
    const { system, start } = processes();
    const build = () =>
      flow()
        .then(step("gate", ({ resumeData, suspend }) => resumeData ?? suspend({})))
        .then(step("after", ({ inputData }) => `after ${inputData}`))
        .commit();
    const first = start("first", build());
    const second = start("second", build());
    const own = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(own.start({ inputData: 1 }));
    const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    const commit = second.driver.commit.bind(second.driver);
    let isFirst = true;
    second.driver.commit = async (commits) => {
      // It has read the run, and someone resumes it now.
      if (isFirst && commits.some(({ writes }) => writes.some(({ table }) => table === WORKFLOW_STEPS))) {
        isFirst = false;
        expect(await own.resume({ resumeData: "early" })).toMatchObject({ result: "after early" });
      }
      return commit(commits);
    };
    const output = other.timeTravelStream({ step: "gate" });
    expect(await system.until(output.result)).toMatchObject({ status: "suspended" });
    const types: string[] = [];
    for await (const { type } of output.fullStream) types.push(type);
    expect(types[0]).toBe("workflow-start");
    expect(isFirst).toBe(false);
    const resumed = other.resume({ resumeData: "late" });
    expect(await system.until(resumed)).toMatchObject({ status: "success", result: "after late" });
  });
});

describe("an event", () => {
  it("refers only to what is stored before it or with it", async () => {
    const { system, start } = processes();
    const add = (id: string) => step(id, ({ inputData }) => Number(inputData) + 1);
    const inner = flow("inner")
      .map(async ({ inputData }) => Number(inputData))
      .then(flow("deep").then(add("x")).commit())
      .map(({ inputData }) => Number(inputData))
      .commit();
    const workflow = flow()
      .then(flow("first").then(add("a")).commit())
      .then(inner)
      .parallel([
        add("b"),
        flow("maps")
          .map(({ inputData }) => Number(inputData))
          .commit(),
      ])
      .map(async ({ inputData }) => [inputData.b, inputData.maps, 3])
      .foreach(flow("each").then(add("y")).commit(), { concurrency: 2 })
      .then(step("end", () => Promise.reject(new Error("no"))))
      .commit();
    const { mastra, driver } = start("p", workflow);
    const stored = new Set<string>();
    const missing: string[] = [];
    let seen = 0;
    const commit = driver.commit.bind(driver);
    driver.commit = (commits) => {
      for (const write of commits.flatMap(({ writes }) => writes)) {
        if (write.op !== "insert") continue;
        const { records, chunks = [] } = write.row as {
          records?: LoggedResult[] | null;
          chunks?: StoredEvent[];
        };
        const results = records ?? [];
        if (write.table === WORKFLOW_STEPS) stored.add(write.row["path"] as string);
        for (const result of results) stored.add(fromLogged(result).path);
        const events = chunks.map((chunk) => fromStoredEvent(chunk, "r", results));
        for (const ref of events.flatMap(({ refs }) => Object.values(refs ?? {}))) {
          seen++;
          missing.push(...pathsOf(ref).filter((path) => !stored.has(path)));
        }
      }
      return commit(commits);
    };
    const run = await mastra.getWorkflow("w").createRun();
    await system.until(run.start({ inputData: 1 }));
    expect(missing).toEqual([]);
    expect(seen).toBeGreaterThan(30);
  });
});

describe("what a run costs", () => {
  it("is one commit per step, with its events", async () => {
    const { system, start } = processes();
    let workflow = flow();
    for (let index = 0; index < 20; index++)
      workflow = workflow
        .then(step(`s${index}`, ({ inputData }) => inputData))
        .map(({ inputData }) => inputData);
    const { mastra, driver } = start("p", workflow.commit());
    await mastra.start();
    await system.until((await mastra.getWorkflow("w").createRun()).start({ inputData: 1 }));
    const before = driver.commits;
    await system.until((await mastra.getWorkflow("w").createRun()).start({ inputData: 1 }));
    // The start, and 20 steps. A mapping that returns at once goes with the step before it.
    expect(driver.commits - before).toBe(21);
  });

  it("is no commit for the start of a nested workflow", async () => {
    const { system, start } = processes();
    const inner = flow("inner").then(step("a")).commit();
    const { mastra, driver } = start("p", flow().then(inner).commit());
    await mastra.start();
    await system.until((await mastra.getWorkflow("w").createRun()).start({ inputData: 1 }));
    const before = driver.commits;
    await system.until((await mastra.getWorkflow("w").createRun()).start({ inputData: 1 }));
    expect(driver.commits - before).toBe(2);
  });

  it("is one row per step, whatever comes after it", async () => {
    const { system, start } = processes();
    let workflow = flow();
    for (let index = 0; index < 20; index++)
      workflow = workflow
        .then(step(`s${index}`, ({ inputData }) => inputData + 1))
        .map(({ inputData }) => inputData);
    const { mastra, storage } = start("p", workflow.commit());
    const run = await mastra.getWorkflow("w").createRun({ runId: "r" });
    await system.until(run.start({ inputData: 1 }));
    const tables = await import("./workflow-tables.ts");
    expect(await storage.count({ table: tables.WORKFLOW_STEPS })).toBe(0);
    expect(await storage.count({ table: tables.WORKFLOW_EVENTS })).toBe(21);
    // What a time travel keeps has no events any more.
    expect(await system.until(run.timeTravel({ step: "s10", inputData: 100 }))).toMatchObject({
      result: 110,
      steps: { s9: { output: 11 }, s10: { output: 101 } },
    });
    expect(await storage.count({ table: tables.WORKFLOW_STEPS })).toBe(21);
    expect(await mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
      steps: { s9: { output: 11 }, s10: { output: 101 }, s19: { output: 110 } },
    });
  });

  it("stores a large output once", async () => {
    const { system, start } = processes();
    const big = "x".repeat(10_000);
    const workflow = flow()
      .then(step("a", () => big))
      .then(step("b", ({ inputData }) => inputData.length))
      .then(step("c", ({ getStepResult }) => getStepResult("a")))
      .commit();
    const { mastra, storage } = start("p", workflow);
    const run = await mastra.getWorkflow("w").createRun();
    await system.until(run.start({ inputData: 1 }));
    const tables = await import("./workflow-tables.ts");
    const rows = await Promise.all(
      [tables.WORKFLOW_RUNS, tables.WORKFLOW_STEPS, tables.WORKFLOW_EVENTS].map((table) =>
        storage.select({ table: table as never }),
      ),
    );
    // Steps a and c each returned it.
    expect(JSON.stringify(rows).length).toBeLessThan(2 * big.length + 5_000);
  });

  it("goes on from the store when the store fails under it", async () => {
    const { system, start } = processes();
    const calls: string[] = [];
    const workflow = flow()
      .then(step("a", () => calls.push("a")))
      .then(step("b", () => calls.push("b")))
      .commit();
    const { mastra, driver } = start("p", workflow);
    await mastra.start();
    const commit = driver.commit.bind(driver);
    let fails = 1;
    driver.commit = async (commits) => {
      const isStep = commits.some(({ writes }) =>
        writes.some((write) => write.op === "insert" && write.row["records"] !== undefined),
      );
      if (isStep && fails-- > 0) throw new Error("the disk is full");
      return commit(commits);
    };
    const result = (await mastra.getWorkflow("w").createRun()).start({ inputData: 1 });
    expect(await system.until(result)).toMatchObject({ status: "success" });
    expect(calls).toEqual(["a", "a", "b"]);
  });
});

describe("the stored events of a run", () => {
  it("are those that its process had sent, however they are stored", async () => {
    const { system, start } = processes();
    const build = () => {
      let tries = 0;
      const described = createStep({
        id: "described",
        inputSchema: any,
        outputSchema: any,
        metadata: { since: new Date(0) },
        execute: async ({ inputData }) => ({ at: new Date(inputData) }),
      });
      const flaky = createStep({
        id: "flaky",
        inputSchema: any,
        outputSchema: any,
        retries: 1,
        execute: async () => {
          if (tries++ === 0) throw new Error("not yet");
          return [1, undefined, 3];
        },
      });
      const nested = flow("nested")
        .then(step("inner"))
        .then(step("end", ({ bail }) => bail("over")));
      return flow()
        .then(described)
        .map(({ inputData }) => inputData.at)
        .sleep(0)
        .then(flaky)
        .foreach(
          step("item", ({ inputData }) => ({ n: inputData })),
          { concurrency: 2 },
        )
        .parallel([step("a", () => null), step("b", () => {}), nested.commit()])
        .branch([[async () => true, step("chosen")]])
        .then(step("ask", ({ resumeData, suspend }) => resumeData ?? suspend({})))
        .then(step("last"))
        .commit();
    };
    const first = start("first", build());
    const second = start("second", build());
    const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
    const live: unknown[] = [];
    run.watch((event: unknown) => void live.push(event));
    expect(await system.until(run.start({ inputData: 5 }))).toMatchObject({ status: "suspended" });
    expect(await system.until(run.resume({ resumeData: 7 }))).toMatchObject({ status: "success", result: 7 });
    const other = await second.mastra.getWorkflow("w").createRun({ runId: "r" });
    const read = async (): Promise<unknown[]> => {
      const events: unknown[] = [];
      for await (const event of other.observeStream()) events.push(event);
      return events;
    };
    const stored = await system.until(read());
    expect(stored.length).toBeGreaterThan(40);
    expect(stored).toEqual(live);
  });
});

describe("after time travel", () => {
  it("the events begin with the new execution", async () => {
    const { system, start } = processes();
    const workflow = flow()
      .then(step("a", () => 1))
      .then(step("b", ({ inputData }) => inputData + 1))
      .commit();
    const { mastra } = start("p", workflow);
    const run = await mastra.getWorkflow("w").createRun();
    await system.until(run.start({ inputData: 1 }));
    await system.until(run.timeTravel({ step: "b", inputData: 10 }));
    const types: string[] = [];
    await system.until(
      (async () => {
        for await (const chunk of run.observeStream()) types.push(chunk.type);
      })(),
    );
    expect(types.slice(0, 2)).toEqual(["workflow-start", "workflow-step-start"]);
    expect(types.at(-1)).toBe("workflow-finish");
  });
});

describe("a run that is over", () => {
  it("is deleted after the time it is kept, and at once if the app does not want it", async () => {
    const { system, start } = processes();
    const kept = flow()
      .then(step("a", () => 1))
      .commit();
    const unwanted = createWorkflow({
      id: "v",
      inputSchema: any,
      outputSchema: any,
      options: { shouldPersistSnapshot: ({ workflowStatus }) => workflowStatus !== "success" },
    })
      .then(step("a", () => 1))
      .commit();
    const { mastra, storage } = start("p", kept, unwanted);
    const run = await mastra.getWorkflow("w").createRun();
    await system.until(run.start({ inputData: 1 }));
    await system.until((await mastra.getWorkflow("v").createRun()).start({ inputData: 1 }));
    expect(await mastra.getWorkflow("v").listWorkflowRuns()).toMatchObject({ total: 0 });
    const snapshots = await storage.getStore("workflows");
    expect(await snapshots!.loadWorkflowSnapshot({ runId: run.runId, workflowName: "w" })).toMatchObject({
      status: "success",
      context: { input: 1, a: { output: 1 } },
      serializedStepGraph: [{ type: "step", step: { id: "a" } }],
    });
    await system.until(sleepFor(system, 1));
    expect(await system.until(storage.prune({ workflowRunsMs: 0 }))).toMatchObject({ workflowRuns: 1 });
    expect(await snapshots!.listWorkflowRuns()).toEqual({ runs: [], total: 0 });
  });
});

function sleepFor(
  system: { setTimer(ms: number, callback: () => void): unknown },
  ms: number,
): Promise<void> {
  return new Promise((resolve) => void system.setTimer(ms, resolve));
}
