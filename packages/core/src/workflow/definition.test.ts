import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { silentLogger } from "../logger.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { createTool } from "../tool/tool.ts";
import { createStep } from "./create-step.ts";
import type { DefinedEntry, WorkflowDefinition } from "./definition.ts";
import { createWorkflow } from "./workflow.ts";

const ANY = {};

const add = createTool({
  id: "add",
  description: "Adds one.",
  inputSchema: z.object({ n: z.number() }),
  execute: async ({ context }) => ({ n: context.n + 1 }),
});
const double = createTool({
  id: "double",
  description: "Doubles.",
  inputSchema: z.object({ n: z.number() }),
  execute: async ({ context }) => ({ n: context.n * 2 }),
});

function host(storage: Storage = new InMemoryStorage(), warnings: string[] = []) {
  const agent = new Agent({
    id: "writer",
    name: "Writer",
    instructions: "Write.",
    model: scriptedModel(({ prompt }) => `Wrote: ${JSON.stringify(prompt.at(-1)!.content)}`),
    logger: silentLogger,
  });
  const io = { inputSchema: z.any(), outputSchema: z.any() };
  const code = createWorkflow({ id: "code", ...io })
    .then(createStep({ id: "same", ...io, execute: async ({ inputData }) => inputData as unknown }))
    .commit();
  const logger = { ...silentLogger, error: (message: string) => void warnings.push(message) };
  return new Mastra({ agents: { agent }, tools: { add, double }, workflows: { code }, storage, logger });
}

const defined = (graph: DefinedEntry[], more: Partial<WorkflowDefinition> = {}): WorkflowDefinition => ({
  id: "defined",
  inputSchema: ANY,
  outputSchema: ANY,
  graph,
  ...more,
});

async function run(graph: DefinedEntry[], inputData: unknown, more: Partial<WorkflowDefinition> = {}) {
  const mastra = host();
  await mastra.addDynamicWorkflow(defined(graph, more));
  const started = await (
    mastra.getWorkflowById("defined") as ReturnType<typeof mastra.getWorkflowById>
  ).createRun();
  return started.start({ inputData });
}

const tool = (id: string, toolId = id): DefinedEntry & { type: "tool" } => ({ type: "tool", id, toolId });
const isSmall = { op: "lt", left: { path: "inputData.n" }, right: { literal: 20 } } as const;

describe("a workflow as data", () => {
  const CASES: [string, DefinedEntry[], unknown, unknown][] = [
    ["tools one after the other", [tool("add"), tool("again", "add")], { n: 1 }, { n: 3 }],
    [
      "another workflow",
      [{ type: "workflow", id: "inner", workflowId: "code" }, tool("add")],
      { n: 1 },
      { n: 2 },
    ],
    [
      "a mapping of steps, input, constants and text",
      [
        tool("add"),
        {
          type: "mapping",
          id: "m",
          mapConfig: {
            before: { initData: true, path: "n" },
            after: { step: ["missing", "add"], path: "n" },
            all: { step: "add", path: "." },
            fixed: { value: [1] },
            text: { template: "${initData.n} → ${stepResults.add.n}${state.none}" },
          },
        },
      ],
      { n: 1 },
      { before: 1, after: 2, all: { n: 2 }, fixed: [1], text: "1 → 2" },
    ],
    [
      "a parallel block",
      [{ type: "parallel", steps: [tool("add"), tool("double")] }],
      { n: 5 },
      { add: { n: 6 }, double: { n: 10 } },
    ],
    [
      "a conditional block",
      [
        {
          type: "conditional",
          steps: [tool("add"), tool("double")],
          predicates: [isSmall, { op: "not", arg: isSmall }],
        },
      ],
      { n: 5 },
      { add: { n: 6 } },
    ],
    [
      "a loop",
      [{ type: "loop", loopType: "dowhile", step: tool("double"), predicate: isSmall }],
      { n: 3 },
      { n: 24 },
    ],
    [
      "a loop for each item",
      [{ type: "foreach", step: tool("add"), opts: { concurrency: 2 } }],
      [{ n: 1 }, { n: 2 }],
      [{ n: 2 }, { n: 3 }],
    ],
    [
      "short sleeps",
      [{ type: "sleep", duration: 1 }, { type: "sleepUntil", date: 0 }, tool("add")],
      { n: 1 },
      { n: 2 },
    ],
  ];
  it.each(CASES)("runs %s", async (_, graph, input, result) => {
    expect(await run(graph, input)).toMatchObject({ status: "success", result });
  });

  it("asks agents, with text made from the run", async () => {
    const result = await run(
      [
        { type: "mapping", id: "m", mapConfig: { prompt: { template: "Greet ${initData.name}." } } },
        { type: "agent", id: "greet", agentId: "writer" },
      ],
      { name: "Ann" },
    );
    expect(result).toMatchObject({
      status: "success",
      result: { text: expect.stringContaining("Greet Ann.") },
    });
  });

  it("checks its input with its schema", async () => {
    const inputSchema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    await expect(run([tool("add")], { n: "x" }, { inputSchema })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  it("is there again after a restart, can be replaced and deleted", async () => {
    const storage = new InMemoryStorage();
    const first = host(storage);
    await first.addDynamicWorkflow(defined([tool("add")]));
    const second = host(storage);
    await second.start();
    expect(await second.listDynamicWorkflows()).toMatchObject([
      { id: "defined", createdAt: expect.any(Date) },
    ]);
    await second.addDynamicWorkflow(defined([tool("double")]));
    const started = await second.getWorkflowById("defined").createRun();
    expect(await started.start({ inputData: { n: 5 } })).toMatchObject({ result: { n: 10 } });
    await second.deleteDynamicWorkflow("defined");
    expect(() => second.getWorkflowById("defined")).toThrow();
    expect(await second.getDynamicWorkflow("defined")).toBeNull();
  });

  it("that names what is gone is reported at boot, and the others work", async () => {
    const storage = new InMemoryStorage();
    const first = host(storage);
    await first.addDynamicWorkflows([defined([tool("add")]), defined([tool("double")], { id: "other" })]);
    const warnings: string[] = [];
    const logger = { ...silentLogger, error: (message: string) => void warnings.push(message) };
    const second = new Mastra({ tools: { double }, storage, logger });
    await second.start();
    expect(warnings).toEqual([expect.stringContaining(`"defined" cannot be used: graph.0.toolId`)]);
    expect(second.getWorkflowById("other").id).toBe("other");
  });

  it("can name another of the same call, in any order", async () => {
    const mastra = host();
    const outer = defined([{ type: "workflow", id: "part", workflowId: "inner" }], { id: "outer" });
    await mastra.addDynamicWorkflows([outer, defined([tool("add")], { id: "inner" })]);
    const started = await mastra.getWorkflowById("outer").createRun();
    expect(await started.start({ inputData: { n: 1 } })).toMatchObject({ result: { n: 2 } });
  });

  const BAD: [string, unknown, string][] = [
    ["no object", "x", "must be an object"],
    ["no id", defined([tool("add")], { id: "" }), "id"],
    ["no schema", { ...defined([tool("add")]), inputSchema: "x" }, "inputSchema"],
    ["no entries", defined([]), "graph must be a list"],
    ["an unknown entry", defined([tool("add"), { type: "jump" } as never]), "graph.1.type"],
    ["an unknown tool", defined([tool("none")]), "graph.0.toolId"],
    ["an unknown agent", defined([{ type: "agent", id: "a", agentId: "none" }]), "graph.0.agentId"],
    [
      "an unknown workflow",
      defined([{ type: "workflow", id: "a", workflowId: "none" }]),
      "graph.0.workflowId",
    ],
    [
      "a bad member",
      defined([tool("add"), tool("b", "add"), { type: "parallel", steps: [tool("none")] }]),
      "graph.2.steps.0.toolId",
    ],
    [
      "a mapping in a block",
      defined([{ type: "parallel", steps: [{ type: "mapping", id: "m", mapConfig: {} } as never] }]),
      "graph.0.steps.0.type",
    ],
    [
      "predicates that do not match",
      defined([{ type: "conditional", steps: [tool("add")], predicates: [] }]),
      "graph.0.predicates",
    ],
    [
      "a bad predicate",
      defined([{ type: "conditional", steps: [tool("add")], predicates: [{ op: "like" } as never] }]),
      "graph.0.predicates.0.op",
    ],
    [
      "a bad loop",
      defined([{ type: "loop", loopType: "for" as never, step: tool("add"), predicate: isSmall }]),
      "graph.0.loopType",
    ],
    [
      "a bad source",
      defined([{ type: "mapping", id: "m", mapConfig: { a: {} as never } }]),
      "graph.0.mapConfig.a",
    ],
    [
      "a bad template",
      defined([{ type: "mapping", id: "m", mapConfig: { a: { template: "${process.env}" } } }]),
      "graph.0.mapConfig.a.template",
    ],
    [
      "a bad concurrency",
      defined([{ type: "foreach", step: tool("add"), opts: { concurrency: 0 } }]),
      "graph.0",
    ],
    ["a bad duration", defined([{ type: "sleep", duration: -1 }]), "graph.0"],
    ["a bad date", defined([{ type: "sleepUntil", date: "soon" }]), "graph.0"],
    ["one id twice", defined([tool("add"), tool("add")]), "graph.1"],
    ["itself", defined([{ type: "workflow", id: "a", workflowId: "defined" }]), "contain themselves"],
    ["the id of a workflow in code", defined([tool("add")], { id: "code" }), `"code"`],
  ];
  it.each(BAD)("with %s is refused with the place, and nothing is stored", async (_, definition, place) => {
    const mastra = host();
    const good = defined([tool("add")], { id: "good" });
    const error = await mastra
      .addDynamicWorkflows([good, definition as never])
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid-argument|conflict)$/) });
    expect((error as Error).message).toContain(place);
    expect(await mastra.listDynamicWorkflows()).toEqual([]);
  });

  it("needs a store", async () => {
    await expect(new Mastra().listDynamicWorkflows()).rejects.toMatchObject({ code: "storage-required" });
  });
});

describe("a definition that would do harm", () => {
  const pay = (log: unknown[]) =>
    createTool({
      id: "pay",
      description: "Pays.",
      inputSchema: z.object({ n: z.number() }),
      requireApproval: ({ n }) => n > 10,
      execute: async ({ context }) => void log.push(context.n),
    });
  const payer = async (log: unknown[]) => {
    const storage = new InMemoryStorage();
    const mastra = new Mastra({ tools: { pay: pay(log) }, storage, logger: silentLogger });
    await mastra.addDynamicWorkflow(defined([{ type: "tool", id: "step", toolId: "pay" }]));
    const workflow = mastra.getWorkflowById("defined") as ReturnType<typeof mastra.getWorkflowById>;
    return { createRun: () => workflow.createRun() };
  };

  it("does not run a tool without the approval that it needs", async () => {
    const log: unknown[] = [];
    const workflow = await payer(log);
    const free = await workflow.createRun();
    expect(await free.start({ inputData: { n: 1 } })).toMatchObject({ status: "success" });
    const asked = await workflow.createRun();
    expect(await asked.start({ inputData: { n: 50 } })).toMatchObject({
      status: "suspended",
      suspendPayload: { step: { toolName: "pay", args: { n: 50 } } },
    });
    await expect(asked.resume({ resumeData: {} })).rejects.toMatchObject({ code: "invalid-argument" });
    expect(log).toEqual([1]);
    expect(await asked.resume({ resumeData: { approved: true } })).toMatchObject({ status: "success" });
    const changed = await workflow.createRun();
    await changed.start({ inputData: { n: 55 } });
    const travel = { step: "step", inputData: { n: 99 }, resumeData: { approved: true } };
    await changed.timeTravel(travel);
    expect(log).not.toContain(99);
    log.length = 0;
    const declined = await workflow.createRun();
    await declined.start({ inputData: { n: 60 } });
    expect(await declined.resume({ resumeData: { approved: false } })).toMatchObject({ status: "failed" });
    expect(log).toEqual([]);
  });

  it("does not multiply its steps without end", async () => {
    const mastra = host();
    const many = (id: string, workflowId: string) =>
      defined(
        Array.from({ length: 50 }, (_, index) => ({ type: "workflow", id: `s${index}`, workflowId })),
        { id },
      );
    await mastra.addDynamicWorkflow(many("w1", "code"));
    await mastra.addDynamicWorkflow(many("w2", "w1"));
    await expect(mastra.addDynamicWorkflow(many("w3", "w2"))).rejects.toThrow("the limit is 10000");
  });

  it("cannot come to contain itself by a change", async () => {
    const storage = new InMemoryStorage();
    const mastra = host(storage);
    const inner = { type: "workflow" as const, id: "inner" };
    await mastra.addDynamicWorkflow(defined([tool("add")], { id: "a" }));
    await mastra.addDynamicWorkflow(defined([{ ...inner, workflowId: "a" }], { id: "b" }));
    await expect(
      mastra.addDynamicWorkflow(defined([{ ...inner, workflowId: "b" }], { id: "a" })),
    ).rejects.toThrow("contain themselves");
  });

  it("has no text that takes long to read", async () => {
    const mastra = host();
    const before = performance.now();
    const template = "${".repeat(400_000);
    await mastra.addDynamicWorkflow(defined([{ type: "mapping", id: "m", mapConfig: { a: { template } } }]));
    // With a placeholder that is read to the end of the text from each opening, this takes minutes.
    expect(performance.now() - before).toBeLessThan(10_000);
    const path = `stepResults.${"a.".repeat(10_000)}a`;
    const long = defined([{ type: "mapping", id: "m", mapConfig: { a: { template: "${" + path + "}" } } }]);
    await expect(mastra.addDynamicWorkflow(long)).rejects.toThrow("at most 1000 characters");
  });
});
