import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createTool } from "@mastra/core/tools";
import { MCPClient, MCPServer } from "@mastra/mcp";
import { z } from "zod";
import { outcome, type Probes } from "../probe.ts";

const add = createTool({
  id: "add",
  description: "Adds two numbers.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  outputSchema: z.object({ sum: z.number() }),
  execute: async ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
});
const fail = createTool({
  id: "fail",
  description: "Fails.",
  inputSchema: z.object({}),
  execute: async () => {
    throw new Error("broken");
  },
});

/** A server over HTTP and a client of it, for as long as `use` takes. */
async function connected<Result>(use: (client: MCPClient) => Promise<Result>): Promise<Result> {
  const server = new MCPServer({ id: "sums", name: "Sums", version: "1.0.0", tools: { add, fail } });
  const http = createServer((req, res) => {
    const url = new URL(req.url ?? "", `http://${req.headers.host}`);
    void server.startHTTP({ url, httpPath: "/mcp", req, res });
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  const client = new MCPClient({
    id: `client-${port}`,
    servers: { sums: { url: new URL(`http://127.0.0.1:${port}/mcp`) } },
  });
  try {
    return await use(client);
  } finally {
    await client.disconnect();
    http.closeAllConnections();
    http.close();
  }
}

export const probes: Probes = {
  "the names of listTools": () =>
    connected(async (client) => Object.keys(await client.listTools()).toSorted()),
  "the names of listToolsets": () =>
    connected(async (client) =>
      Object.entries(await client.listToolsets()).map(([name, tools]) => [
        name,
        Object.keys(tools).toSorted(),
      ]),
    ),
  "a tool of the server is called": () =>
    connected(async (client) => {
      const tools = (await client.listTools()) as Record<
        string,
        { execute(input: unknown): Promise<unknown> }
      >;
      return JSON.stringify(await tools["sums_add"]!.execute({ a: 2, b: 3 })).includes("5");
    }),
  "a server that is not there is left out": async () => {
    const client = new MCPClient({
      id: "nobody",
      servers: { gone: { url: new URL("http://127.0.0.1:9/mcp"), connectTimeout: 500 } },
      timeout: 2000,
    });
    const names = await outcome(async () => Object.keys(await client.listTools()));
    await client.disconnect();
    return names;
  },
};
