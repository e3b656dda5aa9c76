import { createServer } from "node:http";
import { createTool } from "@selvedge/core/tools";
import { MCPServer } from "@selvedge/mcp";
import { z } from "zod";

const book = createTool({
  id: "book",
  description: "Books a table.",
  inputSchema: z.object({ people: z.number() }),
  execute: async ({ context }, { elicitation }) => {
    const answer = await elicitation.sendRequest({
      message: `A table for ${context.people}: under which name?`,
      requestedSchema: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    });
    return answer.action === "accept" ? `Booked for ${answer.content.name}.` : "Not booked.";
  },
});

// Uses the caller's model.
const recommend = createTool({
  id: "recommend",
  description: "Recommends a dish.",
  execute: async (_, { extra }) => {
    const messages = [{ role: "user", content: { type: "text", text: "A dish for a cold evening?" } }];
    const answer = await extra!["sendRequest"]({
      method: "sampling/createMessage",
      params: { messages, maxTokens: 50 },
    });
    return answer.content.text;
  },
});

const server = new MCPServer({
  name: "Restaurant",
  version: "1.0.0",
  tools: { book, recommend },
  resources: {
    listResources: async () => [{ uri: "menu://today", name: "Menu", mimeType: "text/plain" }],
    getResourceContent: async () => ({ text: "Soup" }),
  },
});

// `node server.ts http` serves over HTTP and prints the URL. Without `http` it serves over stdin and stdout.
if (process.argv[2] === "http") {
  const http = createServer((req, res) => {
    const url = new URL(req.url ?? "", "http://localhost");
    void server.startHTTP({ url, httpPath: "/mcp", req, res });
  });
  http.listen(0, "127.0.0.1", () => {
    const { port } = http.address() as { port: number };
    console.log(`http://127.0.0.1:${port}/mcp`);
  });
} else {
  await server.startStdio();
}
