import { Agent, Mastra } from "@selvedge/core";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import type { LoadRequest, LoadSettings } from "./load-process.ts";

/* The server under load, in a process of its own. It is told what to do by its parent. */

const settings = JSON.parse(process.argv[2]!) as LoadSettings;
const words = Array.from({ length: settings.chunks }, (_, index) =>
  `${index} `.padEnd(settings.chunkBytes, "abcdefghij"),
);
const model = scriptedModel(({ index }) => ({
  // The first run only makes the process warm.
  text: index === 0 ? words.slice(0, 1000) : words,
  ...(settings.chunkDelayMs > 0 && { chunkDelayMs: settings.chunkDelayMs }),
}));
const storage = new LibSQLStore({ url: `file:${settings.file}` });
const agent = new Agent({
  id: "talker",
  name: "Talker",
  instructions: "Talk.",
  model,
  memory: new Memory({ options: { lastMessages: 1 } }),
});
const mastra = new Mastra({ agents: { talker: agent }, storage });
await mastra.start();
const running = await serve({ mastra, port: 0, limits: { stallMs: settings.stallMs } });

let peak = 0;
const watch = setInterval(() => settings.weigh && (peak = Math.max(peak, bytesInUse())), 100);

function bytesInUse(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

process.on("message", (request: LoadRequest) => {
  void answer(request);
});
process.on("disconnect", () => process.exit());
process.send!({ url: running.url });

async function answer({ type, threadId }: LoadRequest): Promise<void> {
  if (type === "close") {
    clearInterval(watch);
    await running.close();
    await mastra.close();
    process.disconnect();
    return;
  }
  if (type === "memory") {
    peak = bytesInUse();
    process.send!({ used: peak, streams: running.server.streamCount });
    return;
  }
  const target = { threadId: threadId!, resourceId: "load" };
  const subscription = await agent.subscribeToThread(target);
  const begun = performance.now();
  const before = process.cpuUsage();
  agent.sendMessage("Go.", target);
  for await (const chunk of subscription.stream) if (chunk.type === "finish") break;
  const ms = performance.now() - begun;
  const { user, system } = process.cpuUsage(before);
  process.send!({ ms, cpuMs: (user + system) / 1000, peak, streams: running.server.streamCount });
}
