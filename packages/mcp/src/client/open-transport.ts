import { SSEClientTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { guardFetch } from "./guard-fetch.ts";
import type { ServerDefinition } from "./read-definition.ts";
import { StdioTransport } from "./stdio-transport.ts";

export type ServerTransport = StdioTransport | StreamableHTTPClientTransport | SSEClientTransport;
export type TransportKind = "stdio" | "http" | "sse";

/** The ways to reach a server, best first. */
export function transportKinds({ command, url, refusal }: ServerDefinition): TransportKind[] {
  if (command !== undefined) return ["stdio"];
  if (refusal) throw refusal;
  return url!.pathname.endsWith("/sse") ? ["sse"] : ["http", "sse"];
}

export function openTransport(kind: TransportKind, definition: ServerDefinition): ServerTransport {
  if (kind === "stdio") return new StdioTransport(definition);
  const { requestInit, eventSourceInit, authProvider, allowPrivateAddresses } = definition;
  const url = definition.url!;
  const fetch = allowPrivateAddresses ? definition.fetch : guardFetch(url, definition.fetch);
  const options = {
    ...(requestInit && { requestInit }),
    ...(authProvider && { authProvider }),
    ...(fetch && { fetch }),
    // Redirects within the origin are allowed; redirects elsewhere need consent.
    redirectPolicy: allowPrivateAddresses ? ("follow" as const) : ("same-origin" as const),
  };
  if (kind === "http") return new StreamableHTTPClientTransport(url, options);
  return new SSEClientTransport(url, { ...options, ...(eventSourceInit && { eventSourceInit }) });
}
