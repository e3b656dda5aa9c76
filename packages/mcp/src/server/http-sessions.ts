import type { Logger, System } from "@selvedge/core";
import {
  type McpHandlerRequestOptions,
  WebStandardStreamableHTTPServerTransport,
  type WebStandardStreamableHTTPServerTransportOptions,
} from "@modelcontextprotocol/server";
import type { Connection } from "./connection.ts";
import { principalOf } from "./principal.ts";
import type { SessionLimits } from "./server-config.ts";
import { SessionTable } from "./session-table.ts";

/** Sessions of the older protocol version over streamable HTTP. */
export class HttpSessions {
  /** The transport of the newest session. */
  latest: WebStandardStreamableHTTPServerTransport | undefined;
  readonly #open: () => Connection;
  readonly #table: SessionTable<WebStandardStreamableHTTPServerTransport>;

  constructor(
    open: () => Connection,
    limits: SessionLimits,
    { system, logger }: { system: System; logger: Logger },
  ) {
    this.#open = open;
    this.#table = new SessionTable(limits, system, logger);
  }

  async fetch(
    request: Request,
    caller: McpHandlerRequestOptions,
    options: WebStandardStreamableHTTPServerTransportOptions,
  ): Promise<Response> {
    const id = request.headers.get("mcp-session-id");
    const principal = principalOf(caller.authInfo);
    if (id === null) return this.#initialize(request, caller, options);
    // Another caller's session is treated as missing.
    const session = this.#table.get(id, principal);
    if (!session) return notFound();
    const done = this.#table.busy(id);
    const response = await session.handleRequest(request, caller).catch((error: unknown) => {
      done();
      throw error;
    });
    return whenRead(response, done);
  }

  close(): Promise<void> {
    return this.#table.close();
  }

  /** The transport itself refuses anything but `initialize`, and nothing is kept. */
  async #initialize(
    request: Request,
    caller: McpHandlerRequestOptions,
    options: WebStandardStreamableHTTPServerTransportOptions,
  ): Promise<Response> {
    const { server } = this.#open();
    const principal = principalOf(caller.authInfo);
    let kept: string | undefined;
    const transport = new WebStandardStreamableHTTPServerTransport({
      ...options,
      onsessioninitialized: async (id) => {
        kept = id;
        this.latest = transport;
        this.#table.add(id, transport, principal);
        await options.onsessioninitialized?.(id);
      },
    });
    server.onclose = () => {
      if (kept !== undefined) this.#table.remove(kept);
    };
    await server.connect(transport);
    const response = await transport.handleRequest(request, caller);
    if (kept === undefined) await server.close();
    return response;
  }
}

function notFound(): Response {
  return Response.json(
    { jsonrpc: "2.0", error: { code: -32001, message: "Session not found" }, id: null },
    { status: 404 },
  );
}

/** Calls back when the whole response has been read or the client has disconnected. */
function whenRead(response: Response, done: () => void): Response {
  if (!response.body) {
    done();
    return response;
  }
  const reader = response.body.getReader();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done: ended, value } = await reader.read();
        if (!ended) return controller.enqueue(value);
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      done();
    },
    cancel(reason) {
      done();
      return reader.cancel(reason);
    },
  });
  return new Response(body, { status: response.status, headers: response.headers });
}
