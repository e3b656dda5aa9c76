import { MastraClient } from "@selvedge/client-js";
import { AgentError } from "@selvedge/core/errors";

/** A client for the server that `--url` names. */
export function remoteClient(url: string, token: string | undefined): MastraClient {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new AgentError(
      "invalid-argument",
      `--url must be an address such as http://127.0.0.1:4111, got ${JSON.stringify(url)}.`,
    );
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  return new MastraClient({ baseUrl: url, headers });
}

/** Rethrows an error of the first call to a server; if there is none, says how to start it. */
export function unreachable(url: string, error: unknown): never {
  if (!AgentError.is(error) || error.code !== "connection-failed") throw error;
  throw new AgentError(
    "connection-failed",
    `Cannot reach a server at ${url} (${rootCause(error)}). Start one with \`selvedge dev\`, which prints its address.`,
    { cause: error },
  );
}

/** What happened at the bottom, such as `connect ECONNREFUSED 127.0.0.1:4111`. */
function rootCause(error: Error): string {
  return error.cause instanceof Error ? rootCause(error.cause) : error.message;
}
