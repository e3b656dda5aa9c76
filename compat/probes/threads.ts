import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { scripted, type Reply } from "../model.ts";
import type { Probes } from "../probe.ts";

function agentOf(replies: readonly Reply[]) {
  const memory = new Memory({ storage: new LibSQLStore({ id: "s", url: ":memory:" }) });
  const model = scripted(replies);
  return {
    model,
    memory,
    agent: new Agent({ id: "a", name: "a", instructions: "x", model: model as any, memory: memory as any }),
  };
}

const place = { resourceId: "ann", threadId: "t" };

async function textOf(subscription: any): Promise<string> {
  let text = "";
  for await (const chunk of subscription.stream) {
    if (chunk.type === "text-delta") text += chunk.payload.text;
    if (chunk.type === "finish") break;
  }
  return text;
}

export const probes: Probes = {
  "sendMessage wakes an idle thread and a subscriber reads the answer": async () => {
    const { agent } = agentOf(["Hello Ann"]);
    const subscription = await agent.subscribeToThread(place);
    agent.sendMessage("Hi", place);
    const text = await textOf(subscription);
    subscription.unsubscribe();
    return text;
  },
  "accepted tells what happened": async () => {
    const { agent } = agentOf(["Hello Ann"]);
    const result: any = agent.sendMessage("Hi", place);
    const accepted: any = await result.accepted;
    return { action: accepted.action };
  },
  "sendSignal persists without waking": async () => {
    const { agent, model, memory } = agentOf(["Hello"]);
    const result: any = agent.sendSignal(
      { type: "notification", contents: "build failed" } as any,
      { ...place, ifIdle: { behavior: "persist" } } as any,
    );
    await result.accepted;
    await result.persisted;
    return {
      asked: model.prompts.length,
      stored: (await memory.recall({ threadId: "t", resourceId: "ann" })).messages.length,
    };
  },
  "queueMessage is answered": async () => {
    const { agent } = agentOf(["Queued"]);
    const subscription = await agent.subscribeToThread(place);
    agent.queueMessage("Hi", place);
    const text = await textOf(subscription);
    subscription.unsubscribe();
    return text;
  },
};
