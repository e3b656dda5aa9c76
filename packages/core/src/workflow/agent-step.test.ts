import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { createTool } from "../tool/tool.ts";
import { processes } from "./__fixtures__/processes.ts";
import { createStep } from "./create-step.ts";
import { WITHDRAW } from "./step.ts";
import { createWorkflow } from "./workflow.ts";
import { WORKFLOW_RUNS } from "./workflow-tables.ts";

const text = z.object({ text: z.string() });
const prompt = z.object({ prompt: z.string() });

function withAgent(
  script: Parameters<typeof scriptedModel>[0],
  options: { stored?: boolean; tools?: object } = {},
) {
  const storage = new InMemoryStorage();
  const model = scriptedModel(script);
  const agent = new Agent({
    id: "writer",
    name: "writer",
    instructions: "",
    model,
    logger: silentLogger,
    ...(options.stored && { memory: new Memory({ storage }) }),
    ...(options.tools && { tools: options.tools as never }),
  });
  const run = async (build: (agent: Agent) => any) => {
    const workflow = build(agent).commit();
    const mastra = new Mastra({
      agents: { writer: agent },
      workflows: { workflow },
      storage,
      logger: silentLogger,
    });
    return { run: await workflow.createRun(), workflow, mastra };
  };
  return { agent, model, storage, run };
}

const flow = () => createWorkflow({ id: "w", inputSchema: prompt, outputSchema: z.any() });

const send = createTool({
  id: "send",
  description: "",
  inputSchema: z.object({ to: z.string() }),
  requireApproval: true,
  execute: async ({ context }) => `sent to ${context.to}`,
});

describe("an agent as a step", () => {
  it("answers a prompt with text, streams its chunks and adds its usage", async () => {
    const { run: start } = withAgent(["Hello"]);
    const { run } = await start((agent) => flow().then(agent));
    const output = run.stream({ inputData: { prompt: "hi" } });
    const types: string[] = [];
    for await (const { type, payload } of output.fullStream)
      if (type === "workflow-step-output") types.push(payload.output.type);
    expect(types).toEqual(expect.arrayContaining(["text-delta", "finish"]));
    expect(await output.result).toMatchObject({ status: "success", result: { text: "Hello" } });
    expect((await output.usage).totalTokens).toBeGreaterThan(0);
  });

  it("answers with an object, and is found by its id in the host", async () => {
    const { run: start } = withAgent(['{"n":5}']);
    const { run } = await start(() =>
      flow().agent("writer", { structuredOutput: { schema: z.object({ n: z.number() }) } }, { id: "ask" }),
    );
    expect(await run.start({ inputData: { prompt: "n" } })).toMatchObject({
      result: { n: 5 },
      steps: { ask: {} },
    });
  });

  it.each([{ stored: true }, { stored: false }])(
    "suspends for an approval, and goes on with the answer: %j",
    async (options) => {
      const script = [{ toolCalls: [{ toolName: "send", input: { to: "Ada" } }] }, "Done"];
      const { run: start } = withAgent(script, { ...options, tools: { send } });
      const { run } = await start((agent) => flow().then(createStep(agent)));
      expect(await run.start({ inputData: { prompt: "send" } })).toMatchObject({
        status: "suspended",
        suspendPayload: { writer: { toolName: "send", args: { to: "Ada" } } },
      });
      expect(await run.resume({ resumeData: { approved: true } })).toMatchObject({
        status: "success",
        result: { text: "Done" },
      });
    },
  );

  it("is on a thread of its own, and reads along with its stored run when it is executed again", async () => {
    const { run: start, model, storage } = withAgent(["Hello", "never asked"], { stored: true });
    let crashes = 1;
    const { run } = await start((agent) => {
      const step = createStep(agent, { retries: 1 });
      const execute: typeof step.execute = async (params) => {
        const output = await step.execute(params);
        // As if the process had died before the result was stored.
        if (crashes-- > 0) throw new Error("crash");
        return output;
      };
      return flow().then({ ...step, execute } as typeof step);
    });
    expect(await run.start({ inputData: { prompt: "hi" } })).toMatchObject({ result: { text: "Hello" } });
    expect(model.calls).toHaveLength(1);
    expect(await storage.select({ table: RUNS })).toMatchObject([{ id: `${run.runId}/writer` }]);
  });

  it.each(["the process closes", "another process takes the run"])(
    "is left to the next process when %s",
    async (why) => {
      const { system, open: openProcess } = processes();
      const open = (name: string, script: Parameters<typeof scriptedModel>[0]) => {
        const agent = new Agent({
          id: "writer",
          name: "writer",
          instructions: "",
          model: scriptedModel(script),
          memory: new Memory(),
          logger: silentLogger,
        });
        return openProcess(name, [flow().then(createStep(agent)).commit()], [agent]);
      };
      const hangs = Promise.withResolvers<string>();
      const first = open("first", () => hangs.promise);
      const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      void run.start({ inputData: { prompt: "hi" } }).catch(() => {});
      await system.advance(100);
      const resume = why === "the process closes" ? undefined : first.pause();
      if (!resume) await system.until(first.mastra.close());
      const second = open("second", ["Hello"]);
      await system.advance(60_000);
      resume?.();
      hangs.resolve("too late");
      await system.advance(60_000);
      expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
        status: "success",
        result: { text: "Hello" },
      });
    },
  );

  it("aborts the run of its agent when the workflow run is canceled, also one that was answered", async () => {
    const stuck = Promise.withResolvers<string>();
    let calls = 0;
    const script = () =>
      calls++ === 0 ? { toolCalls: [{ toolName: "send", input: { to: "Ada" } }] } : stuck.promise;
    const { run: start, storage } = withAgent(script, { stored: true, tools: { send } });
    const { run } = await start((agent) => flow().then(createStep(agent)));
    await run.start({ inputData: { prompt: "send" } });
    const resumed = run.resume({ resumeData: { approved: true } });
    await expect.poll(() => calls).toBe(2);
    await run.cancel();
    expect(await resumed).toMatchObject({ status: "canceled" });
    await expect
      .poll(() => storage.select({ table: RUNS, columns: ["state"] }))
      .toMatchObject([{ state: "aborted" }]);
  });

  describe("that waits for an approval", () => {
    const script = [{ toolCalls: [{ toolName: "send", input: { to: "Ada" } }] }, "never asked"];

    it("waits no longer when the workflow run is canceled", async () => {
      const { run: start, agent, model, storage } = withAgent(script, { stored: true, tools: { send } });
      const { run } = await start((asked) => flow().then(createStep(asked)));
      expect(await run.start({ inputData: { prompt: "send" } })).toMatchObject({ status: "suspended" });
      expect(await agent.listSuspendedRuns()).toMatchObject({ total: 1 });
      await run.cancel();
      await expect.poll(() => agent.listSuspendedRuns()).toMatchObject({ total: 0 });
      await expect.poll(() => storage.select({ table: RUNS })).toMatchObject([{ state: "aborted" }]);
      expect(model.calls).toHaveLength(1);
    });

    it.each(["at the same moment", "while a step beside it is executed"])(
      "waits no longer when the run is canceled %s",
      async (when) => {
        const { run: start, agent, model } = withAgent(script, { stored: true, tools: { send } });
        const asked = Promise.withResolvers<void>();
        const canceled = Promise.withResolvers<void>();
        const slow = createStep({
          id: "slow",
          inputSchema: prompt,
          outputSchema: z.any(),
          execute: () => new Promise(() => {}),
        });
        const { run } = await start((writer) => {
          const step = createStep(writer);
          const execute: typeof step.execute = async (params) => {
            const output = await step.execute(params);
            asked.resolve();
            if (when === "at the same moment") await canceled.promise;
            return output;
          };
          return flow().parallel([{ ...step, execute } as typeof step, slow]);
        });
        const result = run.start({ inputData: { prompt: "send" } });
        await asked.promise;
        await run.cancel();
        expect(await result).toMatchObject({ status: "canceled" });
        canceled.resolve();
        await expect.poll(() => agent.listSuspendedRuns()).toMatchObject({ total: 0 });
        expect(model.calls).toHaveLength(1);
      },
    );
  });

  describe("that waits for an approval in a run that is over", () => {
    const script = () => ({ toolCalls: [{ toolName: "send", input: { to: "Ada" } }] });
    const beside = (execute: () => Promise<unknown>) =>
      createStep({ id: "beside", inputSchema: prompt, outputSchema: z.any(), execute });

    it("waits no longer, because a step beside it failed", async () => {
      const { run: start, agent, storage } = withAgent(script, { stored: true, tools: { send } });
      const fail = beside(async () => {
        await expect.poll(async () => (await agent.listSuspendedRuns()).total).toBe(1);
        throw new Error("broken");
      });
      const { run } = await start((writer) => flow().parallel([createStep(writer), fail]));
      expect(await run.start({ inputData: { prompt: "send" } })).toMatchObject({ status: "failed" });
      await expect.poll(() => agent.listSuspendedRuns()).toMatchObject({ total: 0 });
      await expect.poll(() => storage.select({ table: RUNS })).toMatchObject([{ state: "aborted" }]);
    });

    it("is asked anew when a time travel executes the step beside it again", async () => {
      const { run: start, agent } = withAgent(script, { stored: true, tools: { send } });
      let isBroken = true;
      const fails = beside(async () => {
        await expect.poll(async () => (await agent.listSuspendedRuns()).total).toBe(1);
        if (isBroken) throw new Error("broken");
        return "fine";
      });
      const { run } = await start((writer) => flow().parallel([createStep(writer), fails]));
      await run.start({ inputData: { prompt: "send" } });
      await expect.poll(() => agent.listSuspendedRuns()).toMatchObject({ total: 0 });
      isBroken = false;
      expect(await run.timeTravel({ step: "beside" })).toMatchObject({
        status: "suspended",
        suspended: [["writer"]],
        steps: { beside: { output: "fine" } },
      });
      expect(await agent.listSuspendedRuns()).toMatchObject({ total: 1 });
    });

    it("waits no longer when a time travel drops its question", async () => {
      const { run: start, agent } = withAgent(script, { stored: true, tools: { send } });
      const { run } = await start((writer) => flow().then(createStep(writer)));
      await run.start({ inputData: { prompt: "send" } });
      const before = await agent.listSuspendedRuns();
      await run.timeTravel({ step: "writer", inputData: { prompt: "send again" } });
      await expect.poll(async () => (await agent.listSuspendedRuns()).total).toBe(1);
      expect((await agent.listSuspendedRuns()).runs[0]!.runId).not.toBe(before.runs[0]!.runId);
    });

    it.each(["suspended", "in progress"])(
      "waits no longer when the process dies right after the cancellation of a step %s was stored",
      async (where) => {
        const { system, open: openProcess } = processes();
        const thinking = Promise.withResolvers<void>();
        const open = (name: string) => {
          const agent = new Agent({
            id: "writer",
            name: "writer",
            instructions: "",
            model: scriptedModel(async () => {
              if (name === "first" && where === "in progress") await thinking.promise;
              return script();
            }),
            memory: new Memory(),
            tools: { send },
            logger: silentLogger,
          });
          const workflow = flow().then(createStep(agent)).commit();
          return { agent, ...openProcess(name, [workflow], [agent]) };
        };
        const first = open("first");
        const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
        void run.start({ inputData: { prompt: "send" } }).catch(() => {});
        await system.advance(1_000);
        const commit = first.driver.commit.bind(first.driver);
        first.driver.commit = async (commits) => {
          const outcomes = await commit(commits);
          const isCanceled = commits.some(({ writes }) =>
            writes.some((write) => write.op === "update" && write.set?.["status"] === "canceled"),
          );
          if (isCanceled) first.kill();
          return outcomes;
        };
        void run.cancel().catch(() => {});
        await system.advance(1_000);
        const second = open("second");
        await second.mastra.start();
        await system.advance(120_000);
        expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
          status: "canceled",
        });
        expect(await second.storage.select({ table: RUNS, columns: ["state"] })).toEqual([
          { state: "aborted" },
        ]);
        const [row] = await second.storage.select({ table: WORKFLOW_RUNS });
        expect(row).toMatchObject({ status: "canceled", due_at: null });
      },
    );

    it("waits no longer when the process dies right after a time travel dropped its question", async () => {
      const { system, open: openProcess } = processes();
      const open = (name: string) => {
        const agent = new Agent({
          id: "writer",
          name: "writer",
          instructions: "",
          model: scriptedModel(() => script()),
          memory: new Memory(),
          tools: { send },
          logger: silentLogger,
        });
        const workflow = flow().then(createStep(agent)).commit();
        return { agent, ...openProcess(name, [workflow], [agent]) };
      };
      const first = open("first");
      const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      void run.start({ inputData: { prompt: "send" } }).catch(() => {});
      await system.advance(1_000);
      const [asked] = (await first.agent.listSuspendedRuns()).runs;
      const commit = first.driver.commit.bind(first.driver);
      first.driver.commit = async (commits) => {
        const outcomes = await commit(commits);
        const travels = commits.some(({ writes }) =>
          writes.some((write) => write.op === "update" && write.set?.["first_seq"] !== undefined),
        );
        if (travels) first.kill();
        return outcomes;
      };
      void run.timeTravel({ step: "writer", inputData: { prompt: "again" } }).catch(() => {});
      await system.advance(1_000);
      const second = open("second");
      await second.mastra.start();
      await system.advance(120_000);
      const waiting = (await second.agent.listSuspendedRuns()).runs.map(({ runId }) => runId);
      expect(waiting).toHaveLength(1);
      expect(waiting).not.toContain(asked!.runId);
    });

    it("waits no longer when its answer could not be passed on, so that the run failed", async () => {
      const { system, open } = processes();
      const agent = new Agent({
        id: "writer",
        name: "writer",
        instructions: "",
        model: scriptedModel(() => script()),
        memory: new Memory(),
        tools: { send },
        logger: silentLogger,
      });
      const { mastra, driver } = open("p", [flow().then(createStep(agent)).commit()], [agent]);
      await mastra.start();
      const run = await mastra.getWorkflow("w").createRun();
      await system.until(run.start({ inputData: { prompt: "send" } }));
      const select = driver.select.bind(driver);
      driver.select = async (queries) => {
        if (!queries.some(({ where }) => where && "agent_id" in where)) return select(queries);
        driver.select = select;
        throw new Error("The store is away.");
      };
      const result = run.resume({ step: "writer", resumeData: { approved: true } });
      expect(await system.until(result)).toMatchObject({ status: "failed" });
      await system.advance(5_000);
      expect(await agent.listSuspendedRuns()).toMatchObject({ total: 0 });
    });

    it("works no longer on an answer to a question from before a time travel", async () => {
      const { system, open: openProcess } = processes();
      let calls = 0;
      const open = (name: string) => {
        const agent = new Agent({
          id: "writer",
          name: "writer",
          instructions: "",
          model: scriptedModel(() => (calls++ === 0 ? script() : new Promise<string>(() => {}))),
          memory: new Memory(),
          tools: { send },
          logger: silentLogger,
        });
        const workflow = flow().parallel([createStep(agent), beside(async () => "fine")]);
        return openProcess(name, [workflow.commit()], [agent]);
      };
      const first = open("first");
      const run = await first.mastra.getWorkflow("w").createRun({ runId: "r" });
      void run.start({ inputData: { prompt: "send" } });
      await system.advance(1_000);
      void run.timeTravel({ step: "beside" });
      await system.advance(1_000);
      void run.resume({ step: "writer", resumeData: { approved: true } }).catch(() => {});
      await system.advance(1_000);
      expect(calls).toBe(2);
      const commit = first.driver.commit.bind(first.driver);
      first.driver.commit = async (commits) => {
        const outcomes = await commit(commits);
        const isCanceled = commits.some(({ writes }) =>
          writes.some((write) => write.op === "update" && write.set?.["status"] === "canceled"),
        );
        if (isCanceled) first.kill();
        return outcomes;
      };
      void run.cancel().catch(() => {});
      await system.advance(1_000);
      const second = open("second");
      await second.mastra.start();
      await system.advance(120_000);
      expect(await second.mastra.getWorkflow("w").getWorkflowRunById("r")).toMatchObject({
        status: "canceled",
      });
      expect(await second.storage.select({ table: RUNS, columns: ["state"] })).toEqual([
        { state: "aborted" },
      ]);
    });

    describe("and cannot be reached", () => {
      /** A step that asks somebody who cannot be told that the run is over. */
      const asking = () => {
        let tries = 0;
        const step = createStep({
          id: "asking",
          inputSchema: prompt,
          outputSchema: z.any(),
          execute: ({ suspend }) => suspend({}),
        });
        const unreachable = async (): Promise<boolean> => {
          tries++;
          throw new Error("away");
        };
        return { step: Object.assign(step, { [WITHDRAW]: unreachable }), tries: () => tries };
      };

      it("is told at the end of the run what a time travel dropped while it was away", async () => {
        const { system, open } = processes();
        const told: unknown[] = [];
        const step = createStep({
          id: "asking",
          inputSchema: prompt,
          outputSchema: z.any(),
          execute: ({ suspend, retryCount }) => suspend({ life: retryCount + told.length + 1 }),
        });
        const away = async ({ life, suspendData }: { life?: number; suspendData: unknown }) => {
          told.push((suspendData as { life: number } | undefined)?.life ?? life);
          if (told.length === 1) throw new Error("away");
          return false;
        };
        const { mastra } = open("p", [
          flow()
            .then(Object.assign(step, { [WITHDRAW]: away }))
            .commit(),
        ]);
        const run = await mastra.getWorkflow("w").createRun({ runId: "r" });
        void run.start({ inputData: { prompt: "" } });
        await system.advance(1_000);
        void run.timeTravel({ step: "asking" });
        await system.advance(1_000);
        expect(told).toEqual([1]);
        void run.cancel();
        await system.advance(10_000);
        expect(told.slice(1)).toContain(1);
        expect(told.slice(1)).toContain(2);
      });

      it("is told ever more rarely, and does not stand in line before other runs", async () => {
        const { system, open } = processes();
        const { step, tries } = asking();
        const { mastra, storage } = open("p", [flow().then(step).commit()]);
        const run = await mastra.getWorkflow("w").createRun({ runId: "r" });
        void run.start({ inputData: { prompt: "" } });
        await system.advance(1_000);
        await run.cancel();
        await mastra.start();
        await system.advance(600_000);
        expect(tries()).toBeGreaterThan(5);
        expect(tries()).toBeLessThan(20);
        const [row] = await storage.select({ table: WORKFLOW_RUNS });
        expect(row!.due_at).toBeGreaterThan(system.now());
      });

      it("keeps no other process waiting for the end of the run", async () => {
        const { system, open } = processes();
        const broken = Promise.withResolvers<never>();
        const start = (name: string) => {
          const workflow = flow().parallel([asking().step, beside(() => broken.promise)]);
          return open(name, [workflow.commit()]).mastra.getWorkflow("w");
        };
        const run = await start("first").createRun({ runId: "r" });
        void run.start({ inputData: { prompt: "" } });
        await system.advance(1_000);
        const elsewhere = (await start("second").createRun({ runId: "r" })).restart();
        const seen: unknown[] = [];
        void elsewhere.then(({ status }: { status: unknown }) => seen.push(status));
        await system.advance(1_000);
        broken.reject(new Error("broken"));
        await system.advance(120_000);
        expect(seen).toEqual(["failed"]);
      });
    });
  });

  it("is asked again, on a new thread, by a time travel", async () => {
    const { run: start, model, storage } = withAgent(["Hello", "Hello again"], { stored: true });
    const { run } = await start((agent) => flow().then(createStep(agent)));
    await run.start({ inputData: { prompt: "hi" } });
    const again = await run.timeTravel({ step: "writer", inputData: { prompt: "hi, Ada" } });
    expect(again).toMatchObject({ status: "success", result: { text: "Hello again" } });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("hi, Ada");
    expect(JSON.stringify(model.calls[1]!.prompt)).not.toContain("Hello");
    const runs = await storage.select({ table: RUNS });
    expect(new Set(runs.map(({ thread_id }) => thread_id)).size).toBe(2);
  });

  it("asks again when its run failed and the step has retries", async () => {
    const { run: start } = withAgent([{ error: new Error("overloaded") }, "Hello"], { stored: true });
    const { run } = await start((agent) => flow().then(createStep(agent, { retries: 1, maxRetries: 0 })));
    expect(await run.start({ inputData: { prompt: "hi" } })).toMatchObject({ result: { text: "Hello" } });
  });

  it("ends the workflow with a tripwire of the agent", async () => {
    const { run: start } = withAgent(["no"]);
    const guard = {
      id: "guard",
      processInput: ({ abort }: { abort(reason: string): never }) => abort("not allowed"),
    };
    const { run } = await start((agent) => flow().then(createStep(agent, { inputProcessors: [guard] })));
    expect(await run.start({ inputData: { prompt: "hi" } })).toMatchObject({
      status: "tripwire",
      tripwire: { reason: "not allowed", processorId: "guard" },
    });
  });

  it("can be piped to the writer", async () => {
    const { run: start, agent } = withAgent(["Hello"]);
    const step = createStep({
      id: "pipe",
      inputSchema: prompt,
      outputSchema: text,
      execute: async ({ inputData, writer }) => {
        const output = await agent.stream(inputData.prompt);
        await output.fullStream.pipeTo(writer);
        return { text: await output.text };
      },
    });
    const { run } = await start(() => flow().then(step));
    const output = run.stream({ inputData: { prompt: "hi" } });
    expect(await output.result).toMatchObject({ result: { text: "Hello" } });
    expect((await output.usage).totalTokens).toBeGreaterThan(0);
  });
});
