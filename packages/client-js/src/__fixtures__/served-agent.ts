import { Mastra, silentLogger } from "@selvedge/core";
import { Agent, type AgentConfig } from "@selvedge/core/agent";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { createServer, type Server } from "@selvedge/server";
import { type RunningServer, serve, type ServeOptions } from "@selvedge/server/node";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { MastraClient } from "../mastra-client.ts";

export const HERE = { threadId: "t1", resourceId: "r1" } as const;

export interface Host {
  mastra: Mastra;
  agent: Agent;
  model: ScriptedModel;
  memory: Memory;
  storage: Storage;
}

/** A host with one agent, `weaver`, that answers from a script. */
export function hostWith(
  script: Script,
  config: Partial<AgentConfig> = {},
  storage: Storage = new InMemoryStorage(),
): Host {
  const model = scriptedModel(script);
  const memory = new Memory({ storage, options: { lastMessages: 50 } });
  const agent = new Agent({ id: "weaver", name: "weaver", instructions: "Weave.", model, memory, ...config });
  const mastra = new Mastra({ agents: { weaver: agent }, storage, logger: silentLogger });
  return { mastra, agent, model, memory, storage };
}

export function handlerOf(host: Host): Server {
  return createServer({ mastra: host.mastra });
}

export interface Served extends Host {
  server: RunningServer;
  client: MastraClient;
  close(): Promise<void>;
}

/** The same behind a real server on loopback, with a client. */
export async function served(
  script: Script,
  config: Partial<AgentConfig> = {},
  options: Omit<ServeOptions, "mastra"> = {},
): Promise<Served> {
  const host = hostWith(script, config);
  const server = await serve({ mastra: host.mastra, port: 0, ...options });
  const client = new MastraClient({ baseUrl: server.url, backoffMs: 5 });
  const close = async () => {
    await server.close();
    await host.mastra.close();
  };
  return { ...host, server, client, close };
}
