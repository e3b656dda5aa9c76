import { AgentError } from "@selvedge/core";
import type { PromptMessage } from "@modelcontextprotocol/client";
import { PROMPT_VERSION_META, withVersion } from "../prompt-version.ts";
import type { Prompt } from "../server/server-config.ts";
import { byServer, type Connections, offers, quietly } from "./connections.ts";
import type { ServerConnection } from "./server-connection.ts";

/** Actions on the prompts of servers. */
export class PromptActions {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  list(): Promise<Record<string, Prompt[]>> {
    return byServer(this.#connections, listPrompts);
  }

  /** The wire returns only a prompt's messages, so its description comes from the list. */
  async get(request: {
    serverName: string;
    name: string;
    // Documented as any: only the server knows a prompt's arguments.
    // oxlint-disable-next-line typescript/no-explicit-any
    args?: Record<string, any>;
    version?: string;
  }): Promise<{ prompt: Prompt; messages: PromptMessage[] }> {
    const { serverName, name, args, version } = request;
    const connection = this.#connections.find(serverName);
    const prompts = await listPrompts(connection);
    const prompt = prompts.find(
      (one) => one.name === name && (version === undefined || one.version === version),
    );
    if (!prompt) {
      const shown = version === undefined ? `"${name}"` : `"${name}" in version "${version}"`;
      throw new AgentError("not-found", `MCP server "${serverName}" has no prompt ${shown}.`);
    }
    const { messages } = await connection.use(true, (client) =>
      client.getPrompt(
        {
          name,
          ...(args && { arguments: toWords(args) }),
          ...(version !== undefined && { _meta: { [PROMPT_VERSION_META]: version } }),
        },
        connection.requestOptions,
      ),
    );
    return { prompt, messages };
  }

  onListChanged(serverName: string, handler: () => void): Promise<void> {
    const connection = this.#connections.find(serverName);
    connection.handlers.promptsChanged = handler;
    return quietly(connection.listen());
  }
}

function listPrompts(connection: ServerConnection): Promise<Prompt[]> {
  return connection.use(true, async (client) => {
    if (!offers(client, "prompts")) return [];
    const { prompts } = await client.listPrompts(undefined, connection.requestOptions);
    return prompts.map(withVersion);
  });
}

/** The wire accepts only strings. */
function toWords(args: Record<string, unknown>): Record<string, string> {
  const words = Object.entries(args).map(
    ([name, value]) => [name, typeof value === "string" ? value : (JSON.stringify(value) ?? "")] as const,
  );
  return Object.fromEntries(words);
}
