import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Agent } from "@selvedge/core/agent";
import { MCPClient } from "@selvedge/mcp";
import { scriptedModel } from "@selvedge/testing";

// Run server.ts twice: as a child process and as a web server.
const serverFile = fileURLToPath(new URL("server.ts", import.meta.url));
const program = ["--conditions=selvedge-source", serverFile];
const web = spawn(process.execPath, [...program, "http"], { stdio: ["ignore", "pipe", "inherit"] });
process.on("exit", () => web.kill());
const [address] = (await once(web.stdout, "data")) as [Buffer];

const mcp = new MCPClient({
  servers: {
    corner: { command: process.execPath, args: program },
    harbour: {
      url: new URL(address.toString().trim()),
      sampling: { model: scriptedModel(["Fish soup."]), approve: ({ messages }) => messages.length === 1 },
    },
    closed: { url: new URL("http://127.0.0.1:9/mcp") },
  },
  logger: { debug() {}, info() {}, warn() {}, error() {} },
});
for (const place of ["corner", "harbour"]) {
  await mcp.elicitation.onRequest(place, async (request) => {
    assert.match(request.message, /under which name/);
    return { action: "accept", content: { name: `Ada at the ${place}` } };
  });
}

const tools = await mcp.getTools();
assert.deepEqual(Object.keys(tools), [
  "corner_book",
  "corner_recommend",
  "harbour_book",
  "harbour_recommend",
]);
assert.match(mcp.errors["closed"]!, /fetch failed/);

const agent = new Agent({
  name: "concierge",
  instructions: "Book tables.",
  tools,
  model: scriptedModel([
    {
      toolCalls: [
        { toolName: "corner_book", input: { people: 2 } },
        { toolName: "harbour_book", input: { people: 4 } },
      ],
    },
    "Both are booked.",
  ]),
});
const { toolResults } = await agent.generate("Book two tables.");
const booked = toolResults.map(
  ({ payload }) => (payload.result as { content: { text: string }[] }).content[0]!.text,
);
assert.deepEqual(booked.toSorted(), ["Booked for Ada at the corner.", "Booked for Ada at the harbour."]);

const dish = (await tools["harbour_recommend"]!.execute({})) as { content: { text: string }[] };
assert.equal(dish.content[0]!.text, "Fish soup.");
await assert.rejects(tools["corner_recommend"]!.execute({}), /did not declare the sampling capability/);

const { contents } = await mcp.resources.read("harbour", "menu://today");
assert.equal(contents[0]!.text, "Soup");

await mcp.disconnect();
web.kill();
console.log("Two servers, one client, one agent: booked.");
