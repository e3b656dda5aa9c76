import { type ScriptedModel, scriptedModel, virtualSystem, type VirtualSystem } from "@selvedge/testing";
import { bareMemory } from "../../agent/__fixtures__/agent-with.ts";
import { Agent } from "../../agent/agent.ts";
import { Mastra } from "../../mastra/mastra.ts";
import type { MastraConfig } from "../../mastra/mastra-config.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { MESSAGES } from "../../storage/tables.ts";

export const MINUTE = 60_000;
export const HOUR: number = 60 * MINUTE;
export const THREAD = { threadId: "thread-1", resourceId: "ann" };
/** 5 minutes past each hour. */
export const HOURLY = "5 * * * *";

export interface ScheduledWorld {
  system: VirtualSystem;
  storage: Storage;
  model: ScriptedModel;
  agent: Agent;
  mastra: Mastra;
}

/** A host with an agent, on a stopped clock that shows eight o'clock in UTC. */
export async function scheduled(
  given: Partial<Pick<ScheduledWorld, "system" | "storage">> & {
    config?: Partial<MastraConfig>;
    answer?: (index: number) => Promise<string> | string;
  } = {},
): Promise<ScheduledWorld> {
  const { system = virtualSystem(), config } = given;
  const { storage = new InMemoryStorage({ system }) } = given;
  const model = scriptedModel(({ index }) => given.answer?.(index) ?? `Answer ${index + 1}.`);
  const agent = new Agent({
    id: "reporter",
    name: "Reporter",
    instructions: ({ requestContext }) => `Report to team ${String(requestContext.get("team"))}.`,
    model,
    memory: bareMemory(storage),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    system,
    defaultOptions: { limits: { firstChunkMs: 0, totalMs: 0 } },
  });
  const mastra = new Mastra({ agents: { agent }, storage, system, logger: false, ...config });
  return { system, storage, model, agent, mastra };
}

/** The signals that the thread received, in order, as tag, attributes and text. */
export async function heard(storage: Storage): Promise<string[]> {
  const rows = await storage.select({
    table: MESSAGES,
    where: { role: "signal" },
    orderBy: [{ column: "seq" }],
  });
  return rows.map((row) => {
    const { parts } = row["content"] as unknown as { parts: { text: string }[] };
    const { signal } = row["metadata"] as { signal: { type: string; attributes?: object } };
    const { type, attributes = {} } = signal;
    const shown = [type, row["type"], JSON.stringify(attributes), parts.map(({ text }) => text).join("")];
    return shown.join(" ");
  });
}
