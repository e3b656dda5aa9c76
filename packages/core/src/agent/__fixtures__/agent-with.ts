import type { AgentChunk } from "@selvedge/protocol";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import type { MastraMemory, MemoryParts } from "../../memory/memory.ts";
import type { RunOutput } from "../../stream/run-output.ts";
import { silentLogger } from "../../logger.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { Agent } from "../agent.ts";
import type { AgentConfig } from "../agent-config.ts";

/** An agent that answers from a script, and its model, which records its calls. */
export function agentWith(
  script: Script,
  config: Partial<AgentConfig> = {},
): { agent: Agent; model: ScriptedModel } {
  const model = scriptedModel(script);
  const agent = new Agent({
    name: "tester",
    instructions: "Be brief.",
    model,
    logger: silentLogger,
    ...config,
  });
  return { agent, model };
}

/** A memory that only stores. */
export function bareMemory(
  storage: Storage = new InMemoryStorage(),
  parts: Partial<MemoryParts> = {},
): MastraMemory {
  return {
    storage,
    useStorage() {},
    prepareRun: async () => ({ inputProcessors: [], outputProcessors: [], tools: {}, ...parts }),
  };
}

export async function listOf<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const list: Item[] = [];
  for await (const item of items) list.push(item);
  return list;
}

export async function chunksOf(output: Pick<RunOutput<any>, "fullStream">): Promise<AgentChunk[]> {
  return listOf(output.fullStream);
}

export async function typesOf(output: Pick<RunOutput<any>, "fullStream">): Promise<string[]> {
  return (await chunksOf(output)).map((chunk) => chunk.type);
}
