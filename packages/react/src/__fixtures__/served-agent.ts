import { MastraClient } from "@selvedge/client-js";
import { Mastra, silentLogger } from "@selvedge/core";
import { Agent, type AgentConfig } from "@selvedge/core/agent";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { type RunningServer, serve } from "@selvedge/server/node";
import { type Script, scriptedModel, type ScriptedReply } from "@selvedge/testing";

export const HERE = { threadId: "t1", resourceId: "r1" } as const;

export interface Page {
  agent: Agent;
  storage: Storage;
  client: MastraClient;
  readonly server: RunningServer;
  /** Stops the server for as long as `meanwhile` takes. */
  restart(meanwhile: () => Promise<void>): Promise<void>;
  close(): Promise<void>;
}

/** An agent that answers from a script, behind a real server, with a client. */
export async function served(
  script: Script,
  config: Partial<AgentConfig> = {},
  storage: Storage = new InMemoryStorage(),
): Promise<Page> {
  const memory = new Memory({ storage, options: { lastMessages: 50 } });
  const model = scriptedModel(script);
  const agent = new Agent({ id: "weaver", name: "weaver", instructions: "Weave.", model, memory, ...config });
  const mastra = new Mastra({ agents: { weaver: agent }, storage, logger: silentLogger });
  let server = await serve({ mastra, port: 0 });
  return {
    agent,
    storage,
    client: new MastraClient({ baseUrl: server.url, backoffMs: 5 }),
    get server() {
      return server;
    },
    restart: async (meanwhile) => {
      const { port } = server;
      server.http.closeAllConnections();
      await server.close();
      await meanwhile();
      server = await serve({ mastra, port });
    },
    close: async () => {
      server.http.closeAllConnections();
      await server.close();
      await mastra.close();
    },
  };
}

/** Replies that can be held back. */
export function gated(reply?: ScriptedReply) {
  const gates: { reached: () => void; opened: Promise<void> }[] = [];
  return {
    reply: async ({ index }: { index: number }): Promise<string | ScriptedReply> => {
      const gate = gates.shift();
      gate?.reached();
      await gate?.opened;
      return reply ?? `Answer ${index + 1}.`;
    },
    /** Stops the model at its next call. */
    hold: () => {
      const reached = Promise.withResolvers<void>();
      const opened = Promise.withResolvers<void>();
      gates.push({ reached: reached.resolve, opened: opened.promise });
      return { reached: reached.promise, go: opened.resolve };
    },
  };
}
