import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger, System } from "@selvedge/core";
import type { AuthInfo, Transport } from "@modelcontextprotocol/server";
import type { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import type { Connection } from "./connection.ts";
import { principalOf } from "./principal.ts";
import type { SessionLimits } from "./server-config.ts";
import { SessionTable } from "./session-table.ts";

const KEEP_ALIVE_MS = 60_000;

export interface SseRequest {
  url: URL;
  ssePath: string;
  messagePath: string;
  req: IncomingMessage & { auth?: AuthInfo; body?: unknown };
  res: ServerResponse;
}

/** The transport of older clients: a GET opens an event stream, POSTs carry the client's messages. */
export class SseEndpoint {
  latest: SSEServerTransport | undefined;
  readonly #open: () => Connection;
  readonly #system: System;
  readonly #table: SessionTable<SSEServerTransport>;

  constructor(
    open: () => Connection,
    limits: SessionLimits,
    { system, logger }: { system: System; logger: Logger },
  ) {
    this.#open = open;
    this.#system = system;
    this.#table = new SessionTable(limits, system, logger);
  }

  async serve(request: SseRequest): Promise<void> {
    const { url, ssePath, messagePath, req, res } = request;
    if (url.pathname === ssePath && req.method === "GET") return this.#openStream(request);
    if (url.pathname === messagePath && req.method === "POST") {
      if (this.#table.size === 0) return answer(res, 503, "No SSE stream is open.");
      const transport = this.#table.get(url.searchParams.get("sessionId") ?? "", principalOf(req.auth));
      if (!transport) return answer(res, 404, "Session not found");
      return transport.handlePostMessage(req, res, req.body);
    }
    const known = url.pathname === ssePath || url.pathname === messagePath;
    answer(res, known ? 405 : 404, known ? "Method not allowed" : "Not found");
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  async #openStream({ messagePath, req, res }: SseRequest): Promise<void> {
    const { SSEServerTransport } = await import("@modelcontextprotocol/sdk/server/sse.js");
    const { server } = this.#open();
    const transport = new SSEServerTransport(messagePath, res);
    this.#table.add(transport.sessionId, transport, principalOf(req.auth));
    this.latest = transport;
    // The stream is the session: while it is open, the session is in use.
    const done = this.#table.busy(transport.sessionId);
    const stop = this.#keepAlive(res);
    server.onclose = () => {
      stop();
      done();
      this.#table.remove(transport.sessionId);
    };
    // Two versions of one interface that differ only in their message types.
    await server.connect(transport as unknown as Transport);
  }

  #keepAlive(res: ServerResponse): () => void {
    let cancel: () => void;
    const beat = (): void => {
      cancel = this.#system.setTimer(
        KEEP_ALIVE_MS,
        () => {
          res.write(": keep-alive\n\n");
          beat();
        },
        { background: true },
      );
    };
    beat();
    return () => cancel();
  }
}

function answer(res: ServerResponse, status: number, text: string): void {
  res.writeHead(status, { "content-type": "text/plain" }).end(text);
}
