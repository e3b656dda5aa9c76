import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import type { Duplex } from "node:stream";
import { type AddressRules, placeOf } from "./address-rules.ts";

const MAX_CONNECTIONS = 512;
const MAX_REFUSALS = 200;
const CONNECT_MS = 15_000;
/** Headers that belong to one connection, not to the request. */
const HOP_BY_HOP = /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade)$/i;

/** Opens a connection to an address; replaced in tests. */
export type Dial = (address: string, port: number) => Socket;

/**
 * The only way from the browser to the network. It resolves each name itself, checks the addresses, and connects to a
 * checked address, for every request and so at every redirect.
 */
export class EgressProxy {
  readonly #rules: AddressRules;
  readonly #dial: Dial;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();
  readonly #refusals = new Map<string, string>();

  private constructor(rules: AddressRules, dial: Dial) {
    this.#rules = rules;
    this.#dial = dial;
    this.#server = createServer({ maxHeaderSize: 1 << 16 }, (req, res) => void this.#forward(req, res));
    this.#server.maxConnections = MAX_CONNECTIONS;
    this.#server.on("connect", (req, client, head) => void this.#tunnel(req, client, head));
    this.#server.on("connection", (socket) => this.#track(socket));
  }

  static async start(
    rules: AddressRules,
    dial: Dial = (host, port) => connect({ host, port }),
  ): Promise<EgressProxy> {
    const proxy = new EgressProxy(rules, dial);
    await new Promise<void>((resolve, reject) => {
      proxy.#server.once("error", reject).listen(0, "127.0.0.1", resolve);
    });
    // The browser's process keeps the app alive, not its proxy.
    proxy.#server.unref();
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Why the last connection to this URL's host was refused, if it was. */
  refusalOf(url: string): string | undefined {
    return URL.canParse(url) ? this.#refusals.get(placeOf(new URL(url))) : undefined;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  /** HTTPS, and WebSockets of either kind. */
  async #tunnel(req: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    client.on("error", () => client.destroy());
    const target = parse(`http://${req.url}`);
    const upstream = target && (await this.#open(target));
    if (!(upstream && typeof upstream === "object")) {
      client.end(`HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`);
      return;
    }
    client.write("HTTP/1.1 200 Connection Established\r\n\r\n");
    if (head.length > 0) upstream.write(head);
    upstream.pipe(client).pipe(upstream);
    upstream.on("close", () => client.destroy());
    client.on("close", () => upstream.destroy());
  }

  async #forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const target = parse(req.url ?? "");
    if (target?.protocol !== "http:") {
      res.writeHead(400).end("This is a proxy: it accepts absolute http URLs.");
      return;
    }
    const upstream = await this.#open(target);
    if (typeof upstream === "string") {
      res.writeHead(403, { "content-type": "text/plain; charset=utf-8", connection: "close" }).end(upstream);
      return;
    }
    const forwarded = request(
      {
        createConnection: () => upstream,
        method: req.method ?? "GET",
        path: `${target.pathname}${target.search}`,
        headers: { ...headersOf(req), host: target.host, connection: "close" },
      },
      (reply) => {
        res.writeHead(reply.statusCode ?? 502, reply.statusMessage, headersOf(reply));
        reply.pipe(res);
        reply.on("error", () => res.destroy());
      },
    );
    forwarded.on("error", () => (res.headersSent ? res.destroy() : res.writeHead(502).end()));
    res.on("close", () => upstream.destroy());
    req.pipe(forwarded);
  }

  /** A connection to the target, or why there is none. */
  async #open(target: URL): Promise<Socket | string> {
    const place = placeOf(target);
    const port = Number(target.port || 80);
    try {
      const admission = await this.#rules.admit(target.hostname, port);
      if ("refused" in admission) return this.#refuse(place, admission.refused);
      for (const address of admission.addresses) {
        const socket = await this.#connect(address, port);
        if (!socket) continue;
        this.#refusals.delete(place);
        return socket;
      }
      return this.#refuse(place, `${place} does not accept connections.`);
    } catch {
      return this.#refuse(place, `${place} could not be reached.`);
    }
  }

  #connect(address: string, port: number): Promise<Socket | undefined> {
    return new Promise((resolve) => {
      const socket = this.#dial(address, port);
      this.#track(socket);
      const fail = (): void => {
        socket.destroy();
        resolve(undefined);
      };
      socket.setTimeout(CONNECT_MS, fail);
      socket.once("error", fail);
      socket.once("connect", () => {
        socket.setTimeout(0);
        socket.off("error", fail).on("error", () => socket.destroy());
        resolve(socket);
      });
    });
  }

  #track(socket: Duplex): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }

  #refuse(place: string, reason: string): string {
    this.#refusals.delete(place);
    this.#refusals.set(place, reason);
    if (this.#refusals.size > MAX_REFUSALS) this.#refusals.delete(this.#refusals.keys().next().value!);
    return reason;
  }
}

function parse(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

function headersOf({ headersDistinct }: IncomingMessage): Record<string, string[]> {
  const kept = Object.entries(headersDistinct).filter(([name]) => !HOP_BY_HOP.test(name));
  return Object.fromEntries(kept) as Record<string, string[]>;
}
