import type { Logger } from "@selvedge/core";
import type { Client } from "@modelcontextprotocol/client";
import type { ServerConnection } from "./server-connection.ts";

/** The connections of a client, for those who act on them. */
export interface Connections {
  all: ServerConnection[];
  find(name: string): ServerConnection;
  logger: Logger;
}

/** Asks all servers at once. Those that fail are left out, and said so. */
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

/** A promise that may be left alone: the documents call some methods without awaiting them. */
export function quietly<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => {});
  return promise;
}

/** Whether a server has such a thing at all. The library prints a line when it is asked for what is not there. */
export function offers(client: Client, what: "tools" | "resources" | "prompts"): boolean {
  return client.getServerCapabilities()?.[what] !== undefined;
}
