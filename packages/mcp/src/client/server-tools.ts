import { createHash } from "node:crypto";
import { AgentError } from "@selvedge/core";
import { createTool, type JsonSchema, type Tool, type ToolExecutionOptions } from "@selvedge/core/tools";
import {
  type CallToolResult,
  type Client,
  LOG_LEVEL_META_KEY,
  type Tool as WireTool,
} from "@modelcontextprotocol/client";
import { listWireTools } from "./list-wire-tools.ts";
import type { ServerConnection } from "./server-connection.ts";
import { untrustedDescription } from "./untrusted-description.ts";
import { wireSchema } from "./wire-schema.ts";

/** The tools of one server as Selvedge tools, by their own names. */
export async function serverTools(
  connection: ServerConnection,
): Promise<{ tools: Record<string, Tool>; problems: string[] }> {
  const { tools, problems } = await connection.use(true, (client) =>
    listWireTools(client, connection.requestOptions),
  );
  for (const problem of problems) connection.log("warning", problem);
  return { tools: Object.fromEntries(tools.map((wire) => [wire.name, toTool(connection, wire)])), problems };
}

function toTool(connection: ServerConnection, wire: WireTool): Tool {
  const { requireToolApproval } = connection.definition;
  const repeatable = isRepeatable(wire);
  const seen = { changes: connection.toolChanges, digest: digestOf(wire) };
  return createTool({
    id: `${connection.name}_${wire.name}`,
    description: untrustedDescription(connection.name, wire.description ?? wire.title ?? ""),
    // Exactly as the server wrote it: the model reads it and the server validates against it.
    inputSchema: wireSchema(wire.inputSchema as JsonSchema),
    idempotent: repeatable,
    ...(requireToolApproval !== undefined && {
      requireApproval:
        typeof requireToolApproval === "function"
          ? (args: unknown) => requireToolApproval({ toolName: wire.name, args })
          : requireToolApproval,
    }),
    execute: ({ context }, execution) =>
      connection.use(repeatable, (client) => {
        const call = (): Promise<CallToolResult> =>
          callWireTool(connection, client, wire, context as Record<string, unknown>, givenSignal(execution));
        if (connection.toolChanges === seen.changes) return call();
        return checkUnchanged(connection, client, wire.name, seen).then(call);
      }),
  });
}

function callWireTool(
  connection: ServerConnection,
  client: Client,
  wire: WireTool,
  args: Record<string, unknown>,
  signal: AbortSignal | undefined,
): Promise<CallToolResult> {
  const { definition, requestOptions } = connection;
  const {
    logger,
    log = logger,
    enableServerLogs = true,
    enableProgressTracking = true,
    onProgress,
  } = definition;
  const wantsLogs = log && enableServerLogs && client.getProtocolEra() === "modern";
  return client.callTool(
    { name: wire.name, arguments: args, ...(wantsLogs && { _meta: { [LOG_LEVEL_META_KEY]: "debug" } }) },
    {
      ...requestOptions,
      ...(signal && { signal }),
      toolDefinition: wire,
      ...(enableProgressTracking && {
        onprogress: (progress) => {
          const update = { ...progress, tool: wire.name };
          onProgress?.(update);
          connection.handlers.progress?.(update);
        },
      }),
    },
  );
}

/** A signal created by its own getter can never be aborted; following it would cost more than the call. */
function givenSignal(execution: ToolExecutionOptions): AbortSignal | undefined {
  return Object.getOwnPropertyDescriptor(execution, "abortSignal")?.value as AbortSignal | undefined;
}

/** Approval was given for this name, description and schema; the server must not swap them afterwards. */
async function checkUnchanged(
  connection: ServerConnection,
  client: Client,
  name: string,
  seen: { changes: number; digest: string },
): Promise<void> {
  const changes = connection.toolChanges;
  const { tools } = await listWireTools(client, connection.requestOptions);
  const now = tools.find((tool) => tool.name === name);
  if (!now || digestOf(now) !== seen.digest) {
    throw new AgentError(
      "conflict",
      `Tool "${name}" of MCP server "${connection.name}" changed since it was listed. List the tools again to use it.`,
    );
  }
  seen.changes = changes;
}

/** Repeating such a call is harmless, according to the server. */
function isRepeatable({ annotations }: WireTool): boolean {
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

function digestOf({ name, title, description, inputSchema, annotations }: WireTool): string {
  return createHash("sha256")
    .update(JSON.stringify([name, title, description, inputSchema, annotations]))
    .digest("base64url");
}
