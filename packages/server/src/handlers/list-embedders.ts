import type { Agent } from "@selvedge/core";
import type { MastraMemory } from "@selvedge/core/memory";
import type { Embedder } from "@selvedge/core/vector";
import type { App } from "../app.ts";
import type { Answer } from "../handler.ts";

type Info = Answer<"listEmbedders">["embedders"][number];

/** The distinct embedders used by the memories of the host and its agents. */
export async function listEmbedders(app: App): Promise<Info[]> {
  const memories = new Set<MastraMemory | undefined>(Object.values(app.mastra.listMemory()));
  for (const agent of Object.values(app.mastra.listAgents()) as Agent[])
    // A memory chosen per request may be unavailable without one.
    if (agent.hasMemory) memories.add(await agent.getMemory().catch(() => undefined));
  const found = new Map<string, Info>();
  for (const memory of memories) {
    const { embedder } = (memory ?? {}) as { embedder?: Embedder };
    if (embedder) found.set(embedder.id, toInfo(embedder));
  }
  return [...found.values()];
}

function toInfo({ id, dimension }: Embedder): Info {
  const slash = id.indexOf("/");
  return {
    id,
    provider: slash < 0 ? "" : id.slice(0, slash),
    name: id.slice(slash + 1),
    description: "",
    dimensions: dimension,
  };
}
