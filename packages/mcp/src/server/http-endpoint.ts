import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Logger, System } from "@selvedge/core";
import {
  toNodeHandler,
  type NodeIncomingMessageLike,
  type NodeServerResponseLike,
} from "@modelcontextprotocol/node";
import {
  createMcpHandler,
  isLegacyRequest,
  type McpHandlerRequestOptions,
  type McpHttpHandler,
  type McpServerFactory,
  type ServerEventBus,
  type WebStandardStreamableHTTPServerTransport,
  type WebStandardStreamableHTTPServerTransportOptions,
} from "@modelcontextprotocol/server";
import type { Connection } from "./connection.ts";
import { HttpSessions } from "./http-sessions.ts";
import type { SessionLimits } from "./server-config.ts";

/** `sessionIdGenerator: undefined` or `serverless: true` turns sessions off. */
export type StreamableHTTPServerTransportOptions = WebStandardStreamableHTTPServerTransportOptions & {
  serverless?: boolean;
};

/**
 * Serves both versions of the protocol on one HTTP endpoint. Each request shows which version it uses. The newer one
 * needs no session; the older one gets a session unless sessions are off.
 */
export class HttpEndpoint {
  readonly #sessions: HttpSessions;
  readonly #factory: McpServerFactory;
  readonly #bus: ServerEventBus;
  readonly #logger: Logger;
  readonly #handlers = new Map<string, McpHttpHandler>();

  constructor(options: {
    openSession: () => Connection;
    factory: McpServerFactory;
    bus: ServerEventBus;
    limits: SessionLimits;
    system: System;
    logger: Logger;
  }) {
    this.#sessions = new HttpSessions(options.openSession, options.limits, options);
    this.#factory = options.factory;
    this.#bus = options.bus;
    this.#logger = options.logger;
  }

  get latestTransport(): WebStandardStreamableHTTPServerTransport | undefined {
    return this.#sessions.latest;
  }

  async serve(
    req: IncomingMessage,
    res: ServerResponse,
    options: StreamableHTTPServerTransportOptions,
  ): Promise<void> {
    const handler = toNodeHandler(
      { fetch: (request, caller) => this.fetch(request, caller, options) },
      { onerror: (error) => this.#logger.error("An MCP request failed:", error) },
    );
    const { body } = req as { body?: unknown };
    await handler(req as unknown as NodeIncomingMessageLike, res as unknown as NodeServerResponseLike, body);
  }

  async fetch(
    request: Request,
    caller: McpHandlerRequestOptions = {},
    options: StreamableHTTPServerTransportOptions = {},
  ): Promise<Response> {
    const { serverless = false, ...transport } = options;
    const stateless = serverless || ("sessionIdGenerator" in options && !options.sessionIdGenerator);
    if (!stateless && (await isLegacyRequest(request, caller.parsedBody)))
      return this.#sessions.fetch(request, caller, { sessionIdGenerator: randomUUID, ...transport });
    return this.#handler(stateless, options.enableJsonResponse === true).fetch(request, caller);
  }

  async close(): Promise<void> {
    await this.#sessions.close();
    await Promise.all([...this.#handlers.values()].map((handler) => handler.close()));
    this.#handlers.clear();
  }

  #handler(stateless: boolean, json: boolean): McpHttpHandler {
    const key = `${stateless} ${json}`;
    let handler = this.#handlers.get(key);
    if (!handler) {
      handler = createMcpHandler(this.#factory, {
        legacy: stateless ? "stateless" : "reject",
        responseMode: json ? "json" : "auto",
        bus: this.#bus,
        onerror: (error) => this.#logger.debug("MCP request:", error),
      });
      this.#handlers.set(key, handler);
    }
    return handler;
  }
}
