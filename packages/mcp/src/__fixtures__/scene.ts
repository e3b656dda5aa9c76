import { silentLogger } from "@selvedge/core";
import { afterEach } from "vitest";
import {
  MCPClient,
  type MastraMCPServerDefinition,
  MCPServer,
  type MCPServerConfig,
  type StreamableHTTPServerTransportOptions,
} from "../index.ts";
import { type Host, hostHttp } from "./host.ts";

export interface Scene {
  /** Closed after the test, newest first. */
  open(close: () => Promise<unknown>): void;
  client(servers: Record<string, MastraMCPServerDefinition>): MCPClient;
  server(config: Partial<MCPServerConfig>): MCPServer;
  hosted(
    config: Partial<MCPServerConfig>,
    options?: StreamableHTTPServerTransportOptions,
    port?: number,
  ): Promise<Host & { server: MCPServer }>;
}

let ids = 0;

/** Clients and servers for the tests of one file, closed with the test that created them. */
export function scene(): Scene {
  const opened: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of opened.splice(0).toReversed()) await close();
  });
  const server: Scene["server"] = (config) => {
    const made = new MCPServer({
      name: "Test",
      version: "1.0.0",
      tools: {},
      logger: silentLogger,
      ...config,
    });
    opened.push(() => made.close());
    return made;
  };
  return {
    open: (close) => opened.push(close),
    server,
    client: (servers) => {
      const client = new MCPClient({ id: `scene-${++ids}`, servers, timeout: 5000, logger: silentLogger });
      opened.push(() => client.disconnect());
      return client;
    },
    hosted: async (config, options, port) => {
      const made = server(config);
      const host = await hostHttp(made, options, port);
      opened.push(host.close);
      return { server: made, ...host };
    },
  };
}

export const textOf = (result: any): string => result.content[0].text;
