import { Agent } from "@mastra/core/agent";
import { TokenLimiterProcessor, UnicodeNormalizer } from "@mastra/core/processors";
import { scripted, type Reply } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

function agentOf(replies: readonly Reply[], more: any) {
  const model = scripted(replies);
  return { model, agent: new Agent({ id: "a", name: "a", instructions: "x", model: model as any, ...more }) };
}

function lastText(model: any): string {
  return model.prompts[0].prompt.at(-1).content[0].text;
}

export const probes: Probes = {
  "processInput changes the messages": async () => {
    const shout = {
      id: "shout",
      processInput: ({ messages }: any) =>
        messages.map((m: any) => ({
          ...m,
          content: {
            ...m.content,
            parts: m.content.parts.map((p: any) => ({ ...p, text: p.text.toUpperCase() })),
          },
        })),
    };
    const { agent, model } = agentOf(["ok"], { inputProcessors: [shout] });
    await agent.generate("hi");
    return lastText(model);
  },
  "abort in processInput is a tripwire": async () => {
    const stop = { id: "stop", processInput: ({ abort }: any) => abort("no way") };
    const { agent, model } = agentOf(["ok"], { inputProcessors: [stop] });
    const result: any = await agent.generate("hi");
    return { asked: model.prompts.length, reason: result.tripwire?.reason, text: result.text };
  },
  "a tripwire in a stream": async () => {
    const stop = { id: "stop", processInput: ({ abort }: any) => abort("no way") };
    const { agent } = agentOf(["ok"], { inputProcessors: [stop] });
    const stream = await agent.stream("hi");
    const types: string[] = [];
    for await (const chunk of stream.fullStream) types.push(chunk.type);
    return types.includes("tripwire");
  },
  "processOutputResult changes the text": async () => {
    const sign = {
      id: "sign",
      processOutputResult: ({ messages }: any) =>
        messages.map((m: any) =>
          m.role === "assistant"
            ? {
                ...m,
                content: {
                  ...m.content,
                  parts: m.content.parts.map((p: any) =>
                    p.type === "text" ? { ...p, text: `${p.text}!` } : p,
                  ),
                },
              }
            : m,
        ),
    };
    const { agent } = agentOf(["ok"], { outputProcessors: [sign] });
    return (await agent.generate("hi")).text;
  },
  "processOutputStream drops a part": async () => {
    const drop = {
      id: "drop",
      processOutputStream: async ({ part }: any) =>
        part.type === "text-delta" && part.payload.text.includes("two") ? null : part,
    };
    const { agent } = agentOf(["one two three"], { outputProcessors: [drop] });
    const stream = await agent.stream("hi");
    let text = "";
    for await (const part of stream.textStream) text += part;
    return text;
  },
  "processInputStep is called for each step": async () => {
    let steps = 0;
    const count = { id: "count", processInputStep: () => void (steps += 1) };
    const { agent } = agentOf(["ok"], { inputProcessors: [count] });
    await agent.generate("hi");
    return steps;
  },
  "processors of a call replace the agent's": async () => {
    const mark = (id: string) => ({
      id,
      processInput: ({ messages }: any) =>
        messages.map((m: any) => ({
          ...m,
          content: {
            ...m.content,
            parts: m.content.parts.map((p: any) => ({ ...p, text: `${p.text} ${id}` })),
          },
        })),
    });
    const { agent, model } = agentOf(["ok"], { inputProcessors: [mark("agent")] });
    await agent.generate("hi", { inputProcessors: [mark("call")] } as any);
    return lastText(model);
  },
  UnicodeNormalizer: onPurpose(
    "Whitespace is kept unless collapseWhitespace is set, because collapsing it destroys code.",
    async () => {
      const { agent, model } = agentOf(["ok"], { inputProcessors: [new UnicodeNormalizer()] });
      await agent.generate("a  b");
      return lastText(model);
    },
  ),
  "UnicodeNormalizer with options": async () => {
    const { agent, model } = agentOf(["ok"], {
      inputProcessors: [
        new UnicodeNormalizer({ stripControlChars: true, collapseWhitespace: true, trim: true }),
      ],
    });
    await agent.generate("  a  b\u0007 ");
    return lastText(model);
  },
  "TokenLimiterProcessor on input keeps the newest": async () => {
    const { agent, model } = agentOf(["ok"], { inputProcessors: [new TokenLimiterProcessor(60)] });
    await agent.generate([
      { role: "user", content: "word ".repeat(200) },
      { role: "assistant", content: "fine" },
      { role: "user", content: "newest" },
    ]);
    return lastText(model);
  },
  "a processor that throws": async () => {
    const broken = {
      id: "broken",
      processInput: () => {
        throw new Error("broken");
      },
    };
    const { agent } = agentOf(["ok"], { inputProcessors: [broken] });
    return outcome(async () => (await agent.generate("hi")).text);
  },
};
