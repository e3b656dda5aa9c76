import { AgentError, type Logger, type System } from "@selvedge/core";
import { backoff } from "@selvedge/core/guards";
import type { Client, LoggingLevel, Root } from "@modelcontextprotocol/client";
import { sleep } from "../system.ts";
import { checkAudience } from "./check-audience.ts";
import { checkRoots } from "./check-roots.ts";
import { completeSignIn } from "./complete-sign-in.ts";
import { type Attempts, connect, type Open } from "./connect.ts";
import { classifyFailure } from "./failure.ts";
import type { Handlers } from "./handle-server-requests.ts";
import { openTransport, type ServerTransport, transportKinds } from "./open-transport.ts";
import type { ServerDefinition } from "./read-definition.ts";
import { type SamplingHandler, samplingHandler } from "./sampling.ts";
import type { WaitingOAuthProvider } from "./server-definition.ts";
import { StdioTransport } from "./stdio-transport.ts";

const RETRIES = 4;
const DELAY = { firstMs: 150, jitter: 0.5 };

/**
 * The connection to one server: opened on first use and reopened after it breaks. Each attempt has its own client and
 * transport, so a failed one leaves nothing behind.
 */
export class ServerConnection {
  readonly name: string;
  readonly definition: ServerDefinition;
  readonly handlers: Handlers = {};
  /** The folders the server may list; undefined when it may not ask. */
  roots: Root[] | undefined;
  readonly sample: SamplingHandler | undefined;
  /** Incremented whenever the server's tools may have changed: it said so, or it was restarted. */
  toolChanges = 0;
  readonly #timeout: number;
  readonly #system: System;
  readonly #logger: Logger;
  readonly #subscribed = new Set<string>();
  /** Every transport that was started and has not ended, including attempts that may still fail. */
  readonly #transports = new Set<ServerTransport>();
  #open: Promise<Open> | undefined;
  #current: Open | undefined;
  #closed = false;
  #wasOpen = false;

  constructor(
    name: string,
    definition: ServerDefinition,
    defaults: { timeout: number; system: System; logger: Logger },
  ) {
    if (["__proto__", "constructor", "prototype"].includes(name))
      throw new AgentError("invalid-argument", `An MCP server cannot be called "${name}".`);
    checkAudience(name, definition);
    this.name = name;
    this.definition = definition;
    this.roots = definition.roots && checkRoots(definition.roots);
    this.sample = definition.sampling && samplingHandler(name, definition.sampling);
    this.#timeout = definition.timeout ?? defaults.timeout;
    this.#system = defaults.system;
    this.#logger = defaults.logger;
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  get sessionId(): string | undefined {
    return (this.#current?.transport as { sessionId?: string } | undefined)?.sessionId;
  }

  get requestOptions(): { timeout: number; resetTimeoutOnProgress: true; maxTotalTimeout: number } {
    const { maxTotalTimeout = this.#timeout * 10 } = this.definition;
    return { timeout: this.#timeout, resetTimeoutOnProgress: true, maxTotalTimeout };
  }

  /**
   * Runs work against the server. A request the server did not accept is retried on a new connection; one with an
   * unknown outcome only if it is `repeatable`.
   */
  async use<Result>(repeatable: boolean, work: (client: Client) => Promise<Result>): Promise<Result> {
    for (let attempt = 0; ; attempt++) {
      let open: Open | undefined;
      try {
        open = this.#current ?? (await this.#connected());
        return await work(open.client);
      } catch (error) {
        if (attempt === 0 && open && (await completeSignIn(this, error, open.transport))) continue;
        const failure = classifyFailure(error);
        if (failure === "answered" || this.#closed) throw error;
        if (open) this.#forget(open);
        // A server that was never reached is down; one that was is probably restarting.
        const hopeless =
          attempt >= RETRIES || (!open && this.#current === undefined && attempt === 0 && !this.#wasOpen);
        if (hopeless) throw error;
        if (failure === "lost" && open && !repeatable) {
          throw new AgentError(
            "tool-outcome-unknown",
            `The connection to MCP server "${this.name}" broke during the call. It may or may not have executed.`,
            { cause: error },
          );
        }
        await sleep(this.#system, backoff(attempt, this.#system.random(), DELAY));
      }
    }
  }

  /** Subscribes to a resource, across reconnects. */
  async subscribe(uri: string): Promise<void> {
    this.#subscribed.add(uri);
    await this.use(true, () => this.#follow([uri]));
  }

  async unsubscribe(uri: string): Promise<void> {
    this.#subscribed.delete(uri);
    await this.use(true, async (client) => {
      if (client.getProtocolEra() === "modern") return this.#follow([]);
      await client.unsubscribeResource({ uri }, this.requestOptions);
    });
  }

  /** Starts listening for the server's notifications. */
  async listen(): Promise<void> {
    await this.use(true, () => this.#follow([]));
  }

  /** Changes the folders the server may list. */
  async setRoots(roots: Root[]): Promise<void> {
    if (!this.roots) {
      throw new AgentError(
        "not-supported",
        `MCP server "${this.name}" was not offered roots. Set \`roots: []\` in its definition to change them later.`,
      );
    }
    this.roots = checkRoots(roots);
    // Without sessions the server asks again with every call.
    if (this.#current?.client.getProtocolEra() === "legacy")
      await this.#current.client.sendRootsListChanged();
  }

  async reconnect(): Promise<void> {
    if (this.#current) this.#forget(this.#current);
    await this.#connected();
  }

  /** Completes an OAuth flow: `callback` is the query string the user returned with. */
  async finishAuth(callback: URLSearchParams): Promise<void> {
    await (this.definition.authProvider as WaitingOAuthProvider | undefined)?.verifyCallback?.(callback);
    const transport = openTransport(transportKinds(this.definition)[0]!, this.definition);
    if (!(transport instanceof StdioTransport)) await transport.finishAuth(callback);
  }

  async close(): Promise<void> {
    this.#closed = true;
    // A connection attempt may be waiting for a user to sign in.
    (this.definition.authProvider as WaitingOAuthProvider | undefined)?.abandonCallback?.();
    const connecting = this.#current ? [] : [...this.#transports];
    await Promise.allSettled(connecting.map((transport) => transport.close()));
    const open = await this.#open?.catch(() => undefined);
    this.#open = undefined;
    this.#current = undefined;
    await open?.client.close();
  }

  /** Kills a child process immediately. */
  kill(): void {
    for (const transport of this.#transports) if (transport instanceof StdioTransport) transport.kill();
  }

  #connected(): Promise<Open> {
    if (this.#closed)
      throw new AgentError("not-supported", `MCP client is disconnected from "${this.name}".`);
    this.#open ??= this.#connect().then(
      (open) => {
        this.#current = open;
        if (this.#wasOpen) this.toolChanges++;
        this.#wasOpen = true;
        return open;
      },
      (error: unknown) => {
        this.#open = undefined;
        throw error;
      },
    );
    return this.#open;
  }

  async #connect(): Promise<Open> {
    const attempts: Attempts = {
      timeout: this.#timeout,
      begun: (transport) => this.#transports.add(transport),
      ended: (transport) => this.#transports.delete(transport),
      broke: (open) => this.#broke(open),
    };
    const open = await connect(this, attempts);
    if (this.#subscribed.size > 0) await this.#follow([...this.#subscribed], open);
    return open;
  }

  /** With sessions, each resource is subscribed to separately; without, one stream carries all subscriptions. */
  async #follow(uris: string[], given?: Open): Promise<void> {
    const open = given ?? (await this.#connected());
    if (open.client.getProtocolEra() !== "modern") {
      for (const uri of uris) await open.client.subscribeResource({ uri }, this.requestOptions);
      return;
    }
    const { tools, prompts, resources } = open.client.getServerCapabilities() ?? {};
    const before = open.subscription;
    open.subscription = await open.client.listen({
      ...(tools?.listChanged && { toolsListChanged: true }),
      ...(prompts?.listChanged && { promptsListChanged: true }),
      ...(resources?.listChanged && { resourcesListChanged: true }),
      ...(resources?.subscribe &&
        this.#subscribed.size > 0 && { resourceSubscriptions: [...this.#subscribed] }),
    });
    await before?.close();
  }

  #broke(open: Open): void {
    const unexpected = this.#current === open && !this.#closed;
    if (this.#current !== open) return;
    this.#forget(open);
    if (!unexpected) return;
    this.log("warning", `The connection to MCP server "${this.name}" broke.`);
    // A listener would not notice the break, so reconnect on its behalf.
    if (this.#subscribed.size > 0)
      void this.use(true, async () => {}).catch((error: unknown) => this.#logger.warn(String(error)));
  }

  #forget(open: Open): void {
    if (this.#current !== open) return;
    this.#current = undefined;
    this.#open = undefined;
    void open.client.close().catch(() => {});
    void open.transport.close().catch(() => {});
  }

  log(level: LoggingLevel, message: string, details?: Record<string, unknown>): void {
    const { logger, log = logger } = this.definition;
    const entry = { level, message, timestamp: new Date(this.#system.now()), serverName: this.name };
    try {
      log?.({ ...entry, ...(details && { details }) });
    } catch (error) {
      this.#logger.warn(`The log handler of MCP server "${this.name}" threw:`, error);
    }
  }
}
