import type { Logger } from "@selvedge/core";
import type { Client } from "@modelcontextprotocol/client";
import type { ServerConnection } from "./server-connection.ts";

/** The connections of a client, as its actions use them. */
export interface Connections {
  all: ServerConnection[];
  find(name: string): ServerConnection;
  logger: Logger;
}

/** Queries all servers in parallel. Servers that fail are left out and logged. */
export async function byServer<Value>(
  { all, logger }: Connections,
  ask: (connection: ServerConnection) => Promise<Value>,
): Promise<Record<string, Value>> {
  const answers = await Promise.all(
    all.map((connection) =>
      ask(connection).then(
        (value) => [[connection.name, value] as const],
        (error: unknown) => {
          logger.warn(`MCP server "${connection.name}" is left out:`, error);
          return [];
        },
      ),
    ),
  );
  return Object.fromEntries(answers.flat());
}

/** Marks a promise as safe to leave unawaited: the documentation calls some methods without `await`. */
export function quietly<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

/** Whether a server supports a feature. The library logs a line when asked for an unsupported one. */
export function offers(client: Client, what: "tools" | "resources" | "prompts"): boolean {
  return client.getServerCapabilities()?.[what] !== undefined;
}
