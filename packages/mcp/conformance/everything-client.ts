import { MCPClient } from "@selvedge/mcp";
import { FixtureOAuth } from "./fixture-oauth.ts";

// What the conformance suite expects a client to do, done with MCPClient: connect, list, and use what is there.
// Called with the address of the suite's server; the scenario comes in the environment.

const url = new URL(process.argv[2]!);
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const protocolVersion = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] as
  | "2025-11-25"
  | "2026-07-28"
  | undefined;
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as {
  client_id?: string;
  client_secret?: string;
  toolCalls?: { name: string; arguments: Record<string, unknown> }[];
};

const client = new MCPClient({
  servers: {
    suite: {
      url,
      authProvider: new FixtureOAuth(url, context),
      ...(protocolVersion && { protocolVersion }),
      log: ({ level, message }) => console.error(`[${level}] ${message}`),
    },
  },
  timeout: 15_000,
});
await client.elicitation.onRequest("suite", () => ({ action: "accept", content: {} }));

const tools = await client.getTools();
for (const [server, reason] of Object.entries(client.errors)) console.error(`${server}: ${reason}`);

const ARGUMENTS: Record<string, Record<string, unknown>> = { add_numbers: { a: 5, b: 3 } };
const calls =
  context.toolCalls ??
  Object.keys(tools).map((id) => ({ name: id.slice("suite_".length), arguments: argumentsOf(id) }));
const called = await Promise.allSettled(
  calls.map(({ name, arguments: args }) => tools[`suite_${name}`]!.execute({ context: args })),
);
for (const call of called)
  console.error(call.status === "fulfilled" ? JSON.stringify(call.value) : call.reason);

if (scenario === "http-standard-headers") {
  const { suite: resources = [] } = await client.resources.list();
  for (const { uri } of resources) await client.resources.read("suite", uri);
  const { suite: prompts = [] } = await client.prompts.list();
  for (const { name } of prompts) await client.prompts.get({ serverName: "suite", name });
}
const failed = Object.keys(client.errors).length > 0 || called.some(({ status }) => status === "rejected");
await client.disconnect();
process.exit(failed ? 1 : 0);

function argumentsOf(id: string): Record<string, unknown> {
  const known = ARGUMENTS[id.slice("suite_".length)];
  if (known) return known;
  const schema = tools[id]!.inputSchema as {
    properties?: Record<string, { type?: string }>;
    required?: string[];
  };
  const values: Record<string, unknown> = {
    string: "words",
    number: 1,
    integer: 1,
    boolean: true,
    array: [],
    object: {},
  };
  const required = (schema.required ?? []).map((name) => [
    name,
    values[schema.properties?.[name]?.type ?? "string"],
  ]);
  return Object.fromEntries(required) as Record<string, unknown>;
}
