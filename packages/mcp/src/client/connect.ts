import { Client, type McpSubscription } from "@modelcontextprotocol/client";
import { completeSignIn } from "./complete-sign-in.ts";
import { suggestsSse } from "./failure.ts";
import { handleServerRequests } from "./handle-server-requests.ts";
import { openTransport, type ServerTransport, type TransportKind, transportKinds } from "./open-transport.ts";
import type { ServerConnection } from "./server-connection.ts";

const CLIENT_INFO = { name: "selvedge", version: "1.0.0" };

/** A successful attempt: a client and its transport. */
export interface Open {
  client: Client;
  transport: ServerTransport;
  subscription?: McpSubscription;
}

/** Observes connection attempts. */
export interface Attempts {
  timeout: number;
  /** A transport exists, connected or not, until `ended`. */
  begun(transport: ServerTransport): void;
  ended(transport: ServerTransport): void;
  broke(open: Open): void;
}

/** Connects to a server by the first method that works. */
export async function connect(connection: ServerConnection, attempts: Attempts): Promise<Open> {
  let first: unknown;
  for (const kind of transportKinds(connection.definition)) {
    try {
      return await connectOver(kind, connection, attempts);
    } catch (error) {
      // The first of two failures is more informative.
      if (first !== undefined) throw first;
      first = error;
      if (!suggestsSse(error)) break;
    }
  }
  throw first;
}

async function connectOver(
  kind: TransportKind,
  connection: ServerConnection,
  attempts: Attempts,
  { legacy = false, authorized = false } = {},
): Promise<Open> {
  const { definition } = connection;
  const client = newClient(connection, legacy || kind === "sse");
  const transport = openTransport(kind, definition);
  const open: Open = { client, transport };
  client.onclose = () => {
    attempts.ended(transport);
    attempts.broke(open);
  };
  client.onerror = (error) => connection.log("debug", error.message);
  attempts.begun(transport);
  const { connectTimeout = Math.min(attempts.timeout, 30_000), protocolVersion, url } = definition;
  try {
    await client.connect(transport, { timeout: kind === "http" ? connectTimeout : attempts.timeout });
  } catch (error) {
    await client.close().catch(() => {});
    await transport.close().catch(() => {});
    attempts.ended(transport);
    if (!authorized && (await completeSignIn(connection, error, transport)))
      return connectOver(kind, connection, attempts, { legacy, authorized: true });
    // Some older servers exit on a request they do not know.
    const { code } = error as { code?: string };
    if (kind === "stdio" && !legacy && protocolVersion === undefined && code === "ERA_NEGOTIATION_FAILED")
      return connectOver(kind, connection, attempts, { legacy: true, authorized });
    throw error;
  }
  connection.log("debug", `Connected over ${kind}${url ? ` to ${url.origin}` : ""}.`);
  return open;
}

function newClient(connection: ServerConnection, legacy: boolean): Client {
  const { capabilities, protocolVersion } = connection.definition;
  const client = new Client(CLIENT_INFO, {
    capabilities: {
      elicitation: { form: { applyDefaults: true } },
      ...(connection.roots && { roots: { listChanged: true } }),
      ...(connection.sample && { sampling: {} }),
      ...capabilities,
    },
    versionNegotiation: {
      mode:
        legacy || protocolVersion === "2025-11-25"
          ? "legacy"
          : protocolVersion
            ? { pin: protocolVersion }
            : "auto",
    },
  });
  handleServerRequests(client, connection);
  return client;
}
