import { Agent } from "@mastra/core/agent";
import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { tool as aiTool } from "ai";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { scripted, type Reply } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

function agentOf(replies: readonly Reply[], tools: Record<string, unknown>) {
  const model = scripted(replies);
  return {
    agent: new Agent({ id: "a", name: "a", instructions: "x", model: model as any, tools: tools as any }),
    model,
  };
}

function callOf(tool: string, input: unknown): Reply {
  return { calls: [{ tool, input }] };
}

const city = z.object({ city: z.string() });

async function argumentsOf(execute: (input: any, context: any) => unknown) {
  const weather = createTool({
    id: "weather",
    description: "Weather",
    inputSchema: city,
    execute: execute as any,
  });
  const { agent } = agentOf([callOf("weather", { city: "Oslo" }), "done"], { weather });
  const requestContext = new RequestContext();
  requestContext.set("user", "ann");
  const { toolResults } = await agent.generate("Hi", { requestContext });
  return (toolResults[0] as any)?.payload.result;
}

export const probes: Probes = {
  "the first argument is the input": () => argumentsOf((input) => ({ ...input, keys: Object.keys(input) })),
  "the second argument has the request context": () =>
    argumentsOf((_, context) => ({ user: context.requestContext.get("user") })),
  "the second argument has agent": () =>
    argumentsOf((_, { agent }) => ({
      call: typeof agent.toolCallId,
      messages: Array.isArray(agent.messages),
      suspend: typeof agent.suspend,
    })),
  "the second argument has a writer": () => argumentsOf((_, context) => typeof context.writer?.write),
  "the second argument has an abort signal": onPurpose("A tool always gets an abort signal.", () =>
    argumentsOf((_, context) => context.abortSignal instanceof AbortSignal),
  ),
  "the input can be copied and compared": () =>
    argumentsOf((input) => JSON.stringify(structuredClone({ ...input }))),
  "defaults of the schema are applied": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: z.object({ unit: z.string().default("C") }),
      execute: async (input: any) => input,
    });
    const { agent } = agentOf([callOf("t", {}), "done"], { t });
    return ((await agent.generate("Hi")).toolResults[0] as any).payload.result;
  },
  "execute outside an agent": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      execute: async (input: any) => ({ hello: input.city }),
    });
    return (t as any).execute({ city: "Rome" }, {});
  },
  "execute outside an agent with invalid input": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      execute: async (input: any) => ({ hello: input.city }),
    });
    const result: any = await outcome(() => (t as any).execute({ city: 7 }, {}));
    return { error: result?.error };
  },
  "an invalid output is an error": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      outputSchema: z.object({ n: z.number() }),
      execute: (async () => ({ n: "x" })) as any,
    });
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    await agent.generate("Hi");
    return { asked: model.prompts.length };
  },
  "a tool without an input schema": async () => {
    const t = createTool({ id: "now", description: "Now", execute: async () => ({ at: 1 }) });
    const { agent, model } = agentOf([callOf("now", {}), "done"], { now: t });
    await agent.generate("Hi");
    return {
      type: model.prompts[0].tools[0].inputSchema.type,
      told: model.prompts[1].prompt.at(-1).content[0].output,
    };
  },
  "a result that is text": async () => {
    const t = createTool({ id: "t", description: "t", inputSchema: city, execute: async () => "sunny" });
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    await agent.generate("Hi");
    return model.prompts[1].prompt.at(-1).content[0].output;
  },
  "toModelOutput decides what the model reads": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      execute: async () => ({ secret: 1, text: "sunny" }),
      toModelOutput: (output: any) => ({ type: "text", value: output.text }),
    } as any);
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    await agent.generate("Hi");
    return model.prompts[1].prompt.at(-1).content[0].output;
  },
  "a tool of the AI SDK": async () => {
    const t = aiTool({
      description: "Weather",
      inputSchema: city,
      execute: async ({ city: name }) => `sun in ${name}`,
    });
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    await agent.generate("Hi");
    return {
      description: model.prompts[0].tools[0].description,
      told: model.prompts[1].prompt.at(-1).content[0].output,
    };
  },
  "toModelOutput of an AI SDK 5 tool": async () => {
    const t = {
      description: "Weather",
      inputSchema: city,
      execute: async () => ({ sky: "clear" }),
      toModelOutput: (output: any) => ({ type: "text", value: `it is ${output.sky}` }),
    };
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    await agent.generate("Hi");
    return model.prompts[1].prompt.at(-1).content[0].output;
  },
  "toModelOutput of an AI SDK 6 tool": onPurpose(
    "It receives { toolCallId, input, output }, as the AI SDK passes it.",
    async () => {
      const t = aiTool({
        description: "Weather",
        inputSchema: city,
        execute: async () => ({ sky: "clear" }),
        toModelOutput: ({ output }: any) => ({ type: "text", value: `it is ${output?.sky}` }),
      });
      const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
      await agent.generate("Hi");
      return model.prompts[1].prompt.at(-1).content[0].output;
    },
  ),
  "a schema of zod 3": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: z3.object({ city: z3.string(), unit: z3.string().default("C") }) as any,
      execute: async (input: any) => ({ is: `${input.city} ${input.unit}` }),
    });
    const { agent, model } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    const { toolResults } = await agent.generate("Hi");
    return {
      required: model.prompts[0].tools[0].inputSchema.required,
      result: (toolResults[0] as any).payload.result,
    };
  },
  "structuredOutput with zod 3": async () => {
    const { agent } = agentOf(['{"city":"Rome"}'], {});
    return outcome(
      async () =>
        (
          await agent.generate("Hi", {
            structuredOutput: { schema: z3.object({ city: z3.string() }) as any },
          })
        ).object,
    );
  },
  "a JSON Schema as the input schema": async () => {
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as any,
      execute: async (input: any) => ({ is: input.city }),
    });
    const { agent } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    return outcome(async () => ((await agent.generate("Hi")).toolResults[0] as any).payload.result);
  },
  "requireApproval suspends and approveToolCall continues": async () => {
    const { Mastra } = await import("@mastra/core/mastra");
    const { LibSQLStore } = await import("@mastra/libsql");
    let ran = 0;
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      requireApproval: true,
      execute: async () => ({ ran: (ran += 1) }),
    });
    const { agent } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    const mastra = new Mastra({
      agents: { a: agent },
      storage: new LibSQLStore({ id: "s", url: ":memory:" }),
      logger: false,
    });
    const stream = await mastra.getAgent("a").stream("Hi");
    const types: string[] = [];
    for await (const chunk of stream.fullStream) types.push(chunk.type);
    const resumed = await mastra.getAgent("a").approveToolCall({ runId: stream.runId });
    let text = "";
    for await (const chunk of resumed.fullStream) if (chunk.type === "text-delta") text += chunk.payload.text;
    return { asked: types.includes("tool-call-approval"), text, ran };
  },
  "declineToolCall does not run the tool": async () => {
    const { Mastra } = await import("@mastra/core/mastra");
    const { LibSQLStore } = await import("@mastra/libsql");
    let ran = 0;
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      requireApproval: true,
      execute: async () => ({ ran: (ran += 1) }),
    });
    const { agent } = agentOf([callOf("t", { city: "Rome" }), "as you like"], { t });
    const mastra = new Mastra({
      agents: { a: agent },
      storage: new LibSQLStore({ id: "s", url: ":memory:" }),
      logger: false,
    });
    const stream = await mastra.getAgent("a").stream("Hi");
    for await (const _ of stream.fullStream);
    const resumed = await mastra.getAgent("a").declineToolCall({ runId: stream.runId });
    let text = "";
    for await (const chunk of resumed.fullStream) if (chunk.type === "text-delta") text += chunk.payload.text;
    return { text, ran };
  },
  "suspend and resumeStream": async () => {
    const { Mastra } = await import("@mastra/core/mastra");
    const { LibSQLStore } = await import("@mastra/libsql");
    const t = createTool({
      id: "t",
      description: "t",
      inputSchema: city,
      suspendSchema: z.object({ why: z.string() }),
      resumeSchema: z.object({ go: z.boolean() }),
      execute: (async (_: any, context: any) => {
        if (!context.agent?.resumeData) return context.agent.suspend({ why: "ask" });
        return { went: context.agent.resumeData.go };
      }) as any,
    });
    const { agent } = agentOf([callOf("t", { city: "Rome" }), "done"], { t });
    const mastra = new Mastra({
      agents: { a: agent },
      storage: new LibSQLStore({ id: "s", url: ":memory:" }),
      logger: false,
    });
    const stream = await mastra.getAgent("a").stream("Hi");
    let payload: unknown;
    for await (const chunk of stream.fullStream)
      if (chunk.type === "tool-call-suspended") payload = (chunk.payload as any).suspendPayload;
    const resumed = await mastra.getAgent("a").resumeStream({ go: true }, { runId: stream.runId });
    let result: unknown;
    for await (const chunk of resumed.fullStream)
      if (chunk.type === "tool-result") result = chunk.payload.result;
    return { why: (payload as any)?.why, result };
  },
};
