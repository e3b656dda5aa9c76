import { growthOf, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { silentLogger } from "../logger.ts";
import type { Processor } from "../processor/processor.ts";
import { ProcessorStepSchema } from "../processor/processor-step-schema.ts";
import { createTool } from "../tool/tool.ts";
import { createStep } from "./create-step.ts";
import { createWorkflow } from "./workflow.ts";

const io = { inputSchema: ProcessorStepSchema, outputSchema: ProcessorStepSchema };

/** A chunk of text in capitals. */
const LOUD: Processor = {
  id: "loud",
  processOutputStream: ({ part }) =>
    part.type === "text-delta"
      ? { ...part, payload: { ...part.payload, text: part.payload.text.toUpperCase() } }
      : part,
};

const NO_SPACES: Processor = {
  id: "no-spaces",
  processOutputStream: async ({ part }) =>
    part.type === "text-delta" && part.payload.text.trim() === "" ? null : part,
};

const STRICT: Processor = {
  id: "strict",
  processInput: ({ messages, abort }) =>
    JSON.stringify(messages).includes("secret") ? abort("No secrets.") : messages,
};

function agentWith(
  config: Partial<ConstructorParameters<typeof Agent>[0]>,
  text: string | string[] = "Hello there.",
) {
  const model = scriptedModel([{ text: typeof text === "string" ? [text] : text } as never]);
  const agent = new Agent({
    name: "tester",
    instructions: "Be brief.",
    model,
    logger: silentLogger,
    ...config,
  });
  return { agent, model };
}

describe("a workflow of processors", () => {
  it("runs its processors in order on each chunk", async () => {
    const output = createWorkflow({ id: "out", ...io })
      .then(createStep(NO_SPACES))
      .then(createStep(LOUD))
      .commit();
    const { agent } = agentWith({ outputProcessors: [output] }, ["a", " ", "b"]);
    expect((await agent.generate("Hi.")).text).toBe("AB");
  });

  it("runs in parallel, and a map picks a branch", async () => {
    const output = createWorkflow({ id: "out", ...io })
      .parallel([createStep(LOUD), createStep(NO_SPACES)])
      .map(async ({ inputData }) => inputData["processor:loud"])
      .commit();
    const { agent } = agentWith({ outputProcessors: [output] }, ["a", " ", "b"]);
    expect((await agent.generate("Hi.")).text).toBe("A B");
  });

  it("ends the run with the tripwire of the processor", async () => {
    const input = createWorkflow({ id: "in", ...io })
      .then(createStep(STRICT))
      .commit();
    const { agent, model } = agentWith({ inputProcessors: [input] });
    const { tripwire } = await agent.generate("a secret");
    expect(tripwire).toMatchObject({ reason: "No secrets.", processorId: "strict" });
    expect(model.calls).toHaveLength(0);
    expect((await agent.generate("Hi.")).text).toBe("Hello there.");
  });

  it("has plain steps, which see and change the data of each phase", async () => {
    const phases = new Set<string>();
    const look = createStep({
      id: "look",
      ...io,
      execute: async ({ inputData, state, setState }) => {
        phases.add(inputData.phase);
        await setState({ seen: ((state["seen"] as number | undefined) ?? 0) + 1 });
        return inputData;
      },
    });
    const short = createStep({
      id: "short",
      ...io,
      execute: async ({ inputData }) =>
        inputData.phase === "input" ? { ...inputData, messages: inputData.messages!.slice(-1) } : inputData,
    });
    const input = createWorkflow({ id: "in", ...io })
      .then(look)
      .then(short)
      .commit();
    const output = createWorkflow({ id: "out", ...io })
      .then(look)
      .commit();
    const { agent, model } = agentWith({ inputProcessors: [input], outputProcessors: [output] });
    await agent.generate(["First.", "Second."]);
    expect(JSON.stringify(model.calls[0]!.prompt)).not.toContain("First.");
    expect(phases).toEqual(new Set(["input", "inputStep", "outputStream", "outputStep", "outputResult"]));
  });

  it("can stop the run from a plain step, and branch", async () => {
    const stop = createStep({ id: "stop", ...io, execute: async ({ abort }) => abort("Enough.") as never });
    const pass = createStep({ id: "pass", ...io, execute: async ({ inputData }) => inputData });
    const isLong = async ({ inputData }: { inputData: { messages?: unknown[] } }) =>
      JSON.stringify(inputData.messages ?? "").length > 1000;
    const input = createWorkflow({ id: "in", ...io })
      .branch([
        [isLong, stop],
        [async (context) => !(await isLong(context)), pass],
      ])
      .map(async ({ inputData }) => inputData.pass ?? inputData.stop)
      .commit();
    const { agent } = agentWith({ inputProcessors: [input] });
    expect((await agent.generate("Hi.")).tripwire).toBeUndefined();
    expect((await agent.generate("x".repeat(2000))).tripwire).toMatchObject({
      reason: "Enough.",
      processorId: "in",
    });
  });

  it("changes tool results and the model call of a step", async () => {
    const quiet: Processor = {
      id: "quiet",
      processInputStep: ({ stepNumber }) => (stepNumber === 0 ? { toolChoice: "required" } : undefined),
      processToolResult: () => ({ result: "hidden" }),
    };
    const input = createWorkflow({ id: "in", ...io })
      .then(createStep(quiet))
      .commit();
    const execute = async () => "a secret";
    const look = createTool({ id: "look", description: "Looks.", inputSchema: z.object({}), execute });
    const model = scriptedModel([{ toolCalls: [{ toolName: "look", input: {} }] }, "Done."]);
    const { agent } = agentWith({ model, tools: { look }, inputProcessors: [input] });
    await agent.generate("Hi.");
    expect(model.calls[0]!.toolChoice).toMatchObject({ type: "required" });
    const prompt = JSON.stringify(model.calls[1]!.prompt);
    expect(prompt).toContain("hidden");
    expect(prompt).not.toContain("a secret");
  });

  it("keeps the state of a processor for the run", async () => {
    const counts: number[] = [];
    const counter: Processor = {
      id: "counter",
      processOutputStream: ({ part, state }) => {
        state["count"] = ((state["count"] as number | undefined) ?? 0) + 1;
        return part;
      },
      processOutputResult: ({ state, messages }) => {
        counts.push(state["count"] as number);
        return messages;
      },
    };
    const output = createWorkflow({ id: "out", ...io })
      .then(createStep(counter))
      .commit();
    const { agent } = agentWith({ outputProcessors: [output] }, ["a", "b", "c"]);
    await agent.generate("Hi.");
    expect(counts[0]).toBeGreaterThanOrEqual(3);
  });

  it("says what is wrong with one that is not committed, suspends, or does not return its data", async () => {
    const open = createWorkflow({ id: "open", ...io }).then(createStep(LOUD));
    const fork = createWorkflow({ id: "fork", ...io })
      .parallel([createStep(LOUD), createStep(NO_SPACES)])
      .commit();
    const wait = createStep({ id: "wait", ...io, execute: async ({ suspend }) => suspend() });
    const waits = createWorkflow({ id: "waits", ...io })
      .then(wait)
      .commit();
    const error = (workflow: unknown) =>
      agentWith({ outputProcessors: [workflow as Processor] }).agent.generate("Hi.");
    await expect(error(open)).rejects.toThrow("not committed");
    await expect(error(fork)).rejects.toThrow(".map()");
    await expect(error(waits)).rejects.toThrow("cannot suspend");
  });

  it("costs the same for every chunk", async () => {
    const output = createWorkflow({ id: "out", ...io })
      .then(createStep(LOUD))
      .then(createStep(NO_SPACES))
      .commit();
    const growth = await growthOf(async (chunks) => {
      const text = Array.from({ length: chunks }, () => "word ");
      const { agent } = agentWith({ outputProcessors: [output] }, text);
      for await (const _ of (await agent.stream("Hi.")).fullStream);
    }, 200);
    expect(growth).toBeLessThan(1.5);
  });
});
