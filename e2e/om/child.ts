import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { type ScriptedCall, scriptedModel } from "@selvedge/testing";
import { commitKind, type KillPoint } from "./points.ts";

/** A process that talks to an agent with observational memory, and may be killed at a point that it was told. */
export interface OmChildConfig {
  url: string;
  /** The turns it makes, from this number on. */
  from: number;
  turns: number;
  kill?: KillPoint;
  clone?: { id: string };
  /** Waits until all jobs of the store are done. */
  settles?: boolean;
  /** How long the observer thinks. */
  observerMs?: number;
  threadId?: string;
}

const config = JSON.parse(process.argv[2]!) as OmChildConfig;
const { kill, threadId = "t" } = config;
const WORDS = Array.from({ length: 60 }, () => "word").join(" ");
let left = kill?.n ?? 0;

/** Dies here, if this is the point. */
function pass(at: string, when: KillPoint["when"]): void {
  if (kill?.at === at && kill.when === when && --left === 0) process.kill(process.pid, "SIGKILL");
}

const storage = new LibSQLStore({ url: config.url });
const { commit } = storage;
storage.commit = async (writes, options) => {
  const kind = commitKind(writes);
  if (kind) pass(kind, "before");
  const result = await commit.call(storage, writes, options);
  if (kind) pass(kind, "after");
  return result;
};

function textOf(message: ScriptedCall["prompt"][number] | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string"
    ? content
    : content.map((part) => ("text" in part ? part.text : "")).join("");
}

const observer = scriptedModel(async ({ prompt }) => {
  pass("observer", "during");
  if (config.observerMs) await new Promise((resolve) => setTimeout(resolve, config.observerMs));
  const said = [...textOf(prompt.at(-1)).matchAll(/turn-\d+/g)].map(([turn]) => turn);
  return `<observations>\nDate: 2026-11-17\n${[...new Set(said)].map((turn) => `* 🟡 (10:00) The user said ${turn}.`).join("\n")}\n* 🟢 (10:01) The assistant answered.\n</observations>`;
});
const reflector = scriptedModel(() => {
  pass("reflector", "during");
  return "<observations>\n* 🔴 Many turns.\n</observations>";
});
const memory = new Memory({
  storage,
  options: {
    observationalMemory: {
      observation: { model: observer, messageTokens: 400, bufferTokens: 100 },
      reflection: { model: reflector, observationTokens: 160 },
    },
  },
});
const agent = new Agent({
  id: "a",
  name: "a",
  instructions: "Be kind.",
  model: scriptedModel(({ prompt }) => `heard ${/turn-\d+/.exec(textOf(prompt.at(-1)))?.[0]} ${WORDS}`),
  memory,
});
const mastra = new Mastra({ agents: { agent }, storage, logger: false });
await mastra.start();
for (let turn = config.from; turn < config.from + config.turns; turn++) {
  const { text } = await agent.generate(`turn-${turn} ${WORDS}`, {
    memory: { thread: threadId, resource: "ada" },
  });
  process.send?.({ turn, text: text.slice(0, 20) });
}
if (config.clone) {
  await memory.cloneThread({ sourceThreadId: threadId, newThreadId: config.clone.id });
  process.send?.({ cloned: true });
}
await memory.settled();
process.send?.({ done: true });
if (config.settles) await memory.settled();
await mastra.close();
process.exit(0);
