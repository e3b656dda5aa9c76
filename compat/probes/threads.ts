import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { scripted, type Reply } from "../model.ts";
import { onPurpose, type Probes } from "../probe.ts";

let stores = 0;

function agentOf(replies: readonly Reply[]) {
  const memory = new Memory({
    storage: new LibSQLStore({
      id: `s${(stores += 1)}`,
      url: `file:${mkdtempSync(join(tmpdir(), "compat-"))}/a.db`,
    }),
  });
  const model = scripted(replies);
  return {
    model,
    memory,
    agent: new Agent({ id: "a", name: "a", instructions: "x", model: model as any, memory: memory as any }),
  };
}

let threads = 0;

/** The reference remembers threads beyond an agent, so each probe has its own. */
function newPlace() {
  return { resourceId: "ann", threadId: `t${(threads += 1)}` };
}

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
    const place = newPlace();
    const { agent } = agentOf(["Hello Ann"]);
    const subscription = await agent.subscribeToThread(place);
    agent.sendMessage("Hi", place);
    const text = await textOf(subscription);
    subscription.unsubscribe();
    return text;
  },
  "accepted tells what happened": onPurpose(
    "accepted is true, as documented. admitted is the promise of what happened.",
    async () => {
      const place = newPlace();
      const { agent } = agentOf(["Hello Ann"]);
      const result: any = agent.sendMessage("Hi", place);
      const accepted: any = await result.accepted;
      return { action: accepted.action };
    },
  ),
  "a send tells what happened": async () => {
    const place = newPlace();
    const { agent } = agentOf(["Hello Ann"]);
    const result: any = agent.sendMessage("Hi", place);
    return { action: (await (result.admitted ?? result.accepted)).action };
  },
  "sendSignal persists without waking": onPurpose(
    "The thread of a signal is created if it does not exist.",
    async () => {
      const place = newPlace();
      const { agent, model, memory } = agentOf(["Hello"]);
      const result: any = agent.sendSignal(
        { type: "notification", contents: "build failed" } as any,
        { ...place, ifIdle: { behavior: "persist" } } as any,
      );
      await result.accepted;
      await result.persisted;
      return {
        asked: model.prompts.length,
        stored: (await memory.recall(place)).messages.length,
      };
    },
  ),
  "queueMessage is answered": async () => {
    const place = newPlace();
    const { agent } = agentOf(["Queued"]);
    const subscription = await agent.subscribeToThread(place);
    agent.queueMessage("Hi", place);
    const text = await textOf(subscription);
    subscription.unsubscribe();
    return text;
  },
};
