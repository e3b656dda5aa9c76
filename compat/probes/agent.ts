import { Agent } from "@mastra/core/agent";
import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { scripted, type Reply } from "../model.ts";
import { outcome, type Probes } from "../probe.ts";

function agentOf(replies: readonly Reply[], more: Record<string, unknown> = {}) {
  const model = scripted(replies);
  const agent = new Agent({
    id: "helper",
    name: "Helper",
    instructions: "Be brief.",
    model: model as any,
    ...more,
  });
  return { agent, model };
}

const add = createTool({
  id: "add",
  description: "Adds",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  execute: async (input: any) => ({ sum: input.a + input.b }),
});

const call = { calls: [{ tool: "add", input: { a: 1, b: 2 } }] };

export const probes: Probes = {
  "generate returns text, finish reason and usage": async () => {
    const { agent } = agentOf(["Hello there"]);
    const { text, finishReason, usage } = await agent.generate("Hi");
    return {
      text,
      finishReason,
      input: usage.inputTokens,
      output: usage.outputTokens,
      total: usage.totalTokens,
    };
  },
  "generate works on a model of version 3": async () => {
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: scripted(["Third"], "v3") as any,
    });
    return (await agent.generate("Hi")).text;
  },
  "generate works on a model of version 4": async () => {
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: scripted(["Fourth"], "v4") as any,
    });
    return (await agent.generate("Hi")).text;
  },
  "generate works on a model with only doGenerate": async () => {
    const { doStream: _, ...model } = scripted(["Only this"]);
    const agent = new Agent({ id: "a", name: "a", instructions: "x", model: model as any });
    return (await agent.generate("Hi")).text;
  },
  "instructions become the system message": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi");
    return model.prompts[0].prompt.map((m: any) => [
      m.role,
      typeof m.content === "string" ? m.content : m.content[0].text,
    ]);
  },
  "instructions may be a function of the request context": async () => {
    const { agent, model } = agentOf(["ok"], {
      instructions: ({ requestContext }: any) => `Speak ${requestContext.get("language")}.`,
    });
    const requestContext = new RequestContext();
    requestContext.set("language", "Latin");
    await agent.generate("Hi", { requestContext });
    return model.prompts[0].prompt[0].content;
  },
  "instructions of a call replace the agent's": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi", { instructions: "Be long." });
    return model.prompts[0].prompt[0].content;
  },
  "system of a call is added": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi", { system: "And polite." });
    return model.prompts[0].prompt.filter((m: any) => m.role === "system").map((m: any) => m.content);
  },
  "a list of messages is sent in order": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate([
      { role: "user", content: "One" },
      { role: "assistant", content: "Two" },
      { role: "user", content: "Three" },
    ]);
    return model.prompts[0].prompt.map((m: any) => m.role);
  },
  "context goes before the message": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Now", { context: [{ role: "user", content: "Before" }] });
    return model.prompts[0].prompt.flatMap((m: any) =>
      Array.isArray(m.content) ? m.content.map((p: any) => p.text) : [],
    );
  },
  "model settings reach the model": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi", { modelSettings: { temperature: 0.2, maxOutputTokens: 50 } });
    const { temperature, maxOutputTokens } = model.prompts[0];
    return { temperature, maxOutputTokens };
  },
  "provider options reach the model": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi", { providerOptions: { scripted: { mood: "calm" } } });
    return model.prompts[0].providerOptions;
  },
  "a tool is called and its result goes back to the model": async () => {
    const { agent, model } = agentOf([call, "It is 3"], { tools: { add } });
    const result = await agent.generate("1+2?");
    const last = model.prompts[1].prompt.at(-1);
    return { text: result.text, role: last.role, output: last.content[0].output, steps: result.steps.length };
  },
  "toolCalls and toolResults of a result": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const result = await agent.generate("1+2?");
    const calls = result.toolCalls.map((one: any) => ({
      type: one.type,
      name: one.payload?.toolName,
      args: one.payload?.args,
    }));
    const results = result.toolResults.map((one: any) => ({
      type: one.type,
      name: one.payload?.toolName,
      result: one.payload?.result,
    }));
    return { calls, results };
  },
  "a step has text, toolCalls and finishReason": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const { steps } = await agent.generate("1+2?");
    return steps.map((step: any) => ({
      text: step.text,
      calls: step.toolCalls.length,
      results: step.toolResults.length,
      finish: step.finishReason,
    }));
  },
  "totalUsage adds up the steps": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const { totalUsage } = await agent.generate("1+2?");
    return [totalUsage.inputTokens, totalUsage.outputTokens, totalUsage.totalTokens];
  },
  "maxSteps ends the loop": async () => {
    const { agent, model } = agentOf([call], { tools: { add } });
    const { finishReason } = await agent.generate("1+2?", { maxSteps: 2 });
    return { asked: model.prompts.length, finishReason };
  },
  "the model learns the tools": async () => {
    const { agent, model } = agentOf(["ok"], { tools: { add } });
    await agent.generate("Hi");
    return model.prompts[0].tools.map((t: any) => ({
      type: t.type,
      name: t.name,
      description: t.description,
      required: t.inputSchema.required,
    }));
  },
  "activeTools limits the tools": async () => {
    const other = createTool({
      id: "other",
      description: "Other",
      inputSchema: z.object({}),
      execute: async () => 1,
    });
    const { agent, model } = agentOf(["ok"], { tools: { add, other } });
    await agent.generate("Hi", { activeTools: ["other"] } as any);
    return model.prompts[0].tools.map((t: any) => t.name);
  },
  "toolChoice reaches the model": async () => {
    const { agent, model } = agentOf(["ok"], { tools: { add } });
    await agent.generate("Hi", { toolChoice: { type: "tool", toolName: "add" } } as any);
    return model.prompts[0].toolChoice;
  },
  "toolsets of a call add tools": async () => {
    const { agent, model } = agentOf(["ok"]);
    await agent.generate("Hi", { toolsets: { maths: { add } } });
    return model.prompts[0].tools.map((t: any) => t.name);
  },
  "clientTools stop the loop with a call": async () => {
    const { agent, model } = agentOf([{ calls: [{ tool: "pick", input: { color: "red" } }] }]);
    const result = await agent.generate("Hi", {
      clientTools: {
        pick: { id: "pick", description: "Picks", inputSchema: z.object({ color: z.string() }) } as any,
      },
    });
    return { asked: model.prompts.length, finish: result.finishReason, calls: result.toolCalls.length };
  },
  "a tool that throws is reported to the model": async () => {
    const broken = createTool({
      id: "add",
      description: "Breaks",
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async () => {
        throw new Error("out of order");
      },
    });
    const { agent, model } = agentOf([call, "Sorry"], { tools: { add: broken } });
    const { text } = await agent.generate("1+2?");
    return { text, told: JSON.stringify(model.prompts[1].prompt.at(-1)).includes("out of order") };
  },
  "invalid arguments are reported to the model": async () => {
    const { agent, model } = agentOf([{ calls: [{ tool: "add", input: { a: "x" } }] }, "Sorry"], {
      tools: { add },
    });
    const { text } = await agent.generate("1+2?");
    return { text, asked: model.prompts.length };
  },
  "a call of an unknown tool does not end the run": async () => {
    const { agent, model } = agentOf([{ calls: [{ tool: "nothing", input: {} }] }, "Sorry"], {
      tools: { add },
    });
    const result = await outcome(async () => (await agent.generate("1+2?")).text);
    return { result, asked: model.prompts.length };
  },
  "structuredOutput gives an object": async () => {
    const { agent } = agentOf(['{"city":"Rome","days":2}']);
    const { object } = await agent.generate("Where?", {
      structuredOutput: { schema: z.object({ city: z.string(), days: z.number() }) },
    });
    return object;
  },
  "structuredOutput that does not fit throws": async () => {
    const { agent } = agentOf(['{"city":7}']);
    return outcome(
      async () =>
        (await agent.generate("Where?", { structuredOutput: { schema: z.object({ city: z.string() }) } }))
          .object,
    );
  },
  "structuredOutput with a fallback value": async () => {
    const { agent } = agentOf(["no json"]);
    const result = await agent.generate("Where?", {
      structuredOutput: {
        schema: z.object({ city: z.string() }),
        errorStrategy: "fallback",
        fallbackValue: { city: "?" },
      },
    });
    return result.object;
  },
  "structuredOutput of an array schema": async () => {
    const { agent } = agentOf(['{"elements":["a","b"]}']);
    return outcome(
      async () =>
        (await agent.generate("List", { structuredOutput: { schema: z.array(z.string()) } })).object,
    );
  },
  "structuredOutput in a fence": async () => {
    const { agent } = agentOf(['```json\n{"city":"Rome"}\n```']);
    return outcome(
      async () =>
        (await agent.generate("Where?", { structuredOutput: { schema: z.object({ city: z.string() }) } }))
          .object,
    );
  },
  "reasoning is reported apart from the text": async () => {
    const { agent } = agentOf([{ reasoning: "Let me think", text: "Done" }]);
    const result = await agent.generate("Hi");
    return { text: result.text, reasoning: result.reasoningText };
  },
  "an error of the model rejects generate": async () => {
    const { agent } = agentOf([{ error: new Error("overloaded") }]);
    return outcome(() => agent.generate("Hi", { maxRetries: 0 } as any));
  },
  "onStepFinish and onFinish are called": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const seen: string[] = [];
    await agent.generate("1+2?", {
      onStepFinish: (step: any) => void seen.push(`step ${step.finishReason}`),
      onFinish: (result: any) => void seen.push(`finish ${result.text}`),
    });
    return seen;
  },
  "abortSignal ends a run": async () => {
    const { agent } = agentOf(["ok"]);
    const controller = new AbortController();
    controller.abort();
    return outcome(async () => (await agent.generate("Hi", { abortSignal: controller.signal })).text);
  },
  "a fallback model is asked when the first fails": async () => {
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: [
        { model: scripted([{ error: new Error("down") }]) as any, maxRetries: 0 },
        { model: scripted(["second"]) as any, maxRetries: 0 },
      ],
    });
    return outcome(async () => (await agent.generate("Hi")).text);
  },
  "a model may be a function": async () => {
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: (() => scripted(["made"])) as any,
    });
    return (await agent.generate("Hi")).text;
  },
  "getters of an agent": async () => {
    const { agent } = agentOf(["ok"], { tools: { add }, description: "Helps" });
    return {
      id: agent.id,
      name: agent.name,
      description: agent.getDescription(),
      instructions: await agent.getInstructions(),
      tools: Object.keys(await agent.listTools()),
    };
  },
  "defaultOptions of an agent are used": async () => {
    const { agent, model } = agentOf(["ok"], { defaultOptions: { modelSettings: { temperature: 0.7 } } });
    await agent.generate("Hi");
    return model.prompts[0].temperature;
  },
  "response.messages are model messages": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const { response } = await agent.generate("1+2?");
    return response.messages!.map((m: any) => [
      m.role,
      Array.isArray(m.content) ? m.content.map((p: any) => p.type) : typeof m.content,
    ]);
  },
  "response.uiMessages are UI messages": async () => {
    const { agent } = agentOf([call, "It is 3"], { tools: { add } });
    const { response } = await agent.generate("1+2?");
    return (response as any).uiMessages?.map((m: any) => [
      m.role,
      m.parts.map((p: any) => p.type).filter((type: string) => type !== "step-start"),
    ]);
  },
  "an agent among agents is a tool": async () => {
    const { agent: child } = agentOf(["from the child"], {
      id: "child",
      name: "child",
      description: "Knows",
    });
    const { agent, model } = agentOf(
      [{ calls: [{ tool: "agent-child", input: { prompt: "Tell" } }] }, "done"],
      { agents: { child } },
    );
    const { text } = await agent.generate("Ask");
    return {
      text,
      tool: model.prompts[0].tools.map((t: any) => t.name),
      told: JSON.stringify(model.prompts[1].prompt.at(-1)).includes("from the child"),
    };
  },
};
