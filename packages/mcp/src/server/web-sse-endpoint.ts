import { randomUUID } from "node:crypto";
import { type AuthInfo, type JSONRPCMessage, parseJSONRPCMessage } from "@modelcontextprotocol/server";
import type { Logger, System } from "@selvedge/core";
import type { Connection } from "./connection.ts";
import { principalOf } from "./principal.ts";
import type { SessionLimits } from "./server-config.ts";
import { SessionTable } from "./session-table.ts";
import { WebSseTransport } from "./web-sse-transport.ts";

export interface WebSseOptions {
  /** Where the client posts its messages. */
  messagePath: string;
  /** The caller, as authenticated by the host. A session belongs to the caller who opened it, and tools receive it. */
  authInfo?: AuthInfo;
}

const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * The transport of older clients, for hosts that use `Request` and `Response`: a GET opens an event stream, POSTs carry
 * the client's messages.
 */
export class WebSseEndpoint {
  readonly #open: () => Connection;
  readonly #system: System;
  readonly #table: SessionTable<WebSseTransport>;

  constructor(
    open: () => Connection,
    limits: SessionLimits,
    { system, logger }: { system: System; logger: Logger },
  ) {
    this.#open = open;
    this.#system = system;
    this.#table = new SessionTable(limits, system, logger);
  }

  async fetch(request: Request, { messagePath, authInfo }: WebSseOptions): Promise<Response> {
    const owner = principalOf(authInfo);
    const { pathname, searchParams } = new URL(request.url);
    if (request.method === "POST" && pathname === messagePath) {
      const transport = this.#table.get(searchParams.get("sessionId") ?? "", owner);
      return transport
        ? receive(transport, request, authInfo)
        : new Response("Session not found", { status: 404 });
    }
    if (request.method === "GET" && pathname !== messagePath) return this.#openStream(messagePath, owner);
    return new Response("Method not allowed", { status: 405 });
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  async #openStream(messagePath: string, owner: string | undefined): Promise<Response> {
    const { server } = this.#open();
    const transport = new WebSseTransport(randomUUID(), messagePath, this.#system);
    this.#table.add(transport.sessionId, transport, owner);
    // The stream is the session: while it is open, the session is in use.
    const done = this.#table.busy(transport.sessionId);
    server.onclose = () => {
      done();
      this.#table.remove(transport.sessionId);
    };
    await server.connect(transport);
    return new Response(transport.stream, { headers: HEADERS });
  }
}

async function receive(
  transport: WebSseTransport,
  request: Request,
  authInfo: AuthInfo | undefined,
): Promise<Response> {
  let message: JSONRPCMessage;
  try {
    message = parseJSONRPCMessage(await request.json());
  } catch {
    return new Response("The body is not a JSON-RPC message.", { status: 400 });
  }
  transport.onmessage?.(message, { request, ...(authInfo && { authInfo }) });
  return new Response("Accepted", { status: 202 });
}
