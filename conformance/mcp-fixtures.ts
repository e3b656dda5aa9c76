import { createServer, type RequestListener, type Server } from "node:http";
import { MCPClient, MCPServer } from "@selvedge/mcp";
import { createTool } from "@selvedge/core/tools";
import { printer } from "./fixtures.ts";

const NAME = "myWeatherServer";
let clients = 0;

/** The server of the documents' examples, and a client of it. It starts to listen when it is first asked something. */
export function weatherClient() {
  const server = new MCPServer({
    name: NAME,
    version: "1.0.0",
    tools: { hello: createTool({ id: "hello", description: "", execute: async () => "hello" }) },
    resources: {
      listResources: async () => [{ uri: "weather://current", name: "Current" }],
      resourceTemplates: async () => [{ uriTemplate: "weather://{city}", name: "City" }],
      getResourceContent: async () => ({ text: "Sunny" }),
    },
    prompts: {
      listPrompts: async () => [{ name: "current" }],
      getPromptMessages: async ({ args }) => [
        { role: "user", content: { type: "text", text: `Weather in ${args.location}` } },
      ],
    },
  });
  let started: Promise<Server> | undefined;
  const handle: RequestListener = (req, res) =>
    void server.startHTTP({ url: new URL(req.url ?? "", "http://localhost"), httpPath: "/mcp", req, res });
  const mcpClient = new MCPClient({
    id: `conformance-${++clients}`,
    servers: {
      [NAME]: {
        url: new URL("http://127.0.0.1/mcp"),
        fetch: async (input, init) => {
          started ??= listen(handle);
          const url = new URL(input);
          url.port = String(((await started).address() as { port: number }).port);
          return fetch(url, init);
        },
      },
    },
  });
  const close = async (): Promise<void> => {
    await mcpClient.disconnect();
    await server.close();
    (await started)?.closeAllConnections();
    (await started)?.close();
  };
  return { mcpClient, close, weather: server, ...printer() };
}

async function listen(handle: RequestListener): Promise<Server> {
  const http = createServer(handle);
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  return http;
}
