import { createServer as createHttpServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { AgentError } from "@selvedge/core";
import { toLimits } from "@selvedge/core/guards";
import { configOf, withHostConfig } from "./host-config.ts";
import { isLoopback } from "./check-request.ts";
import { limitConnections } from "./limit-connections.ts";
import { timeFor } from "./read-body.ts";
import { createServer, type Server } from "./server.ts";
import { DEFAULT_SERVER_LIMITS, type ServerOptions } from "./server-options.ts";

export interface ServeOptions extends ServerOptions {
  /** Default: `server.port` of the host, or 4111. 0 picks a free port. */
  port?: number | undefined;
  /** The address to listen on. Default: `server.host` of the host, or `127.0.0.1`. Other addresses need an authoriser. */
  hostname?: string | undefined;
}

export interface RunningServer {
  readonly url: string;
  readonly port: number;
  readonly server: Server;
  readonly http: HttpServer;
  /** Stops listening, ends the live streams and waits for responses in progress. The host stays open. */
  close(): Promise<void>;
}

const DEFAULT_PORT = 4111;
const HEADERS_MS = 20_000;
/** How long responses in progress may take when the server closes. */
const CLOSE_MS = 5_000;
/** How often to check whether the last response has been sent. */
const SWEEP_MS = 20;

/** Listens for requests. Refuses a public address unless callers are authenticated. */
export async function serve(given: ServeOptions): Promise<RunningServer> {
  const options = withHostConfig(given);
  const config = configOf(options.mastra);
  const { port = config.port ?? DEFAULT_PORT, hostname = config.host ?? "127.0.0.1", ...rest } = options;
  if (!options.authorize && !isLoopback(hostname)) {
    throw new AgentError(
      "invalid-argument",
      `Listening on "${hostname}" without an authorize function would let any caller act as any user. Pass authorize, or listen on 127.0.0.1.`,
    );
  }
  const server = createServer(rest);
  const limits = toLimits(DEFAULT_SERVER_LIMITS, options.limits);
  const longest = HEADERS_MS + timeFor(limits.bodyBytes, limits);
  const http = createHttpServer(
    // Node's own timeouts end slow or endless headers, and bodies that are not read.
    {
      headersTimeout: HEADERS_MS,
      requestTimeout: Number.isFinite(longest) ? longest : 0,
      keepAliveTimeout: 10_000,
    },
    getRequestListener((request) => server.fetch(request), { overrideGlobalObjects: false }),
  );
  limitConnections(http, limits, options.mastra.logger);
  let underWay = 0;
  http.on("request", (_, response) => {
    underWay++;
    response.once("close", () => underWay--);
  });
  await new Promise<void>((resolve, reject) => {
    http.once("error", reject);
    http.listen(port, hostname, resolve);
  });
  const address = http.address() as AddressInfo;
  const name = hostname.includes(":") ? `[${hostname}]` : hostname;
  let closed: Promise<void> | undefined;
  return {
    url: `http://${name}:${address.port}`,
    port: address.port,
    server,
    http,
    close: () => (closed ??= close(http, server, () => underWay === 0)),
  };
}

async function close(http: HttpServer, server: Server, isQuiet: () => boolean): Promise<void> {
  const ended = new Promise<void>((resolve) => http.close(() => resolve()));
  server.close();
  // Connections that never carried a request do not count as idle.
  const sweep = setInterval(() => isQuiet() && http.closeAllConnections(), SWEEP_MS);
  const cut = setTimeout(() => http.closeAllConnections(), CLOSE_MS);
  await ended;
  clearTimeout(cut);
  clearInterval(sweep);
}
