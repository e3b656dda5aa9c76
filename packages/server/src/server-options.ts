import type { Mastra } from "@selvedge/core";
import type { Authorize } from "./caller.ts";

export interface ServerLimits {
  /** Bytes of a request's body. */
  bodyBytes: number;
  /** How deep JSON may be nested. */
  jsonDepth: number;
  /** Time for a body to arrive. Every 64 KB that has come adds a second, for long ones on slow lines. 0 is without end. */
  bodyMs: number;
  /** Requests that are being answered at once. Live streams are counted apart. */
  requests: number;
  /** Of these, for one resource that the authoriser names. */
  requestsPerResource: number;
  /** Runs that go on at once for one resource that the authoriser names. Those that wait for a person do not count. */
  runsPerResource: number;
  /** Open connections. Of `serve()` only. */
  connections: number;
  /** Of these, from one address, or network of 64 bits in IPv6. A proxy in front of the server needs more. */
  connectionsPerAddress: number;
  /** The longest silence on a live stream. */
  heartbeatMs: number;
  /** How long a reader may leave its stream full before it is let go. */
  stallMs: number;
  /** How much of a stream waits for a reader. */
  streamBytes: number;
  /** Live streams at once. */
  streams: number;
  /** Of these, for one resource that the authoriser names. */
  streamsPerResource: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  bodyBytes: 8 << 20,
  jsonDepth: 64,
  bodyMs: 30_000,
  requests: 10_000,
  requestsPerResource: 100,
  runsPerResource: 100,
  connections: 20_000,
  connectionsPerAddress: 1000,
  heartbeatMs: 20_000,
  stallMs: 30_000,
  streamBytes: 64 << 10,
  streams: 10_000,
  streamsPerResource: 1000,
};

export interface ServerOptions {
  mastra: Mastra;
  /**
   * Says who sent a request. Without it the server trusts every caller, and therefore answers only requests to
   * loopback names: `localhost`, `127.0.0.1` and `::1`, and those in `allowedHosts`.
   */
  authorize?: Authorize | undefined;
  /** Names, without ports, that the `Host` header may have. With an authoriser any, when absent. */
  allowedHosts?: readonly string[] | undefined;
  /** Origins of pages on other sites that may call, such as `https://app.example.com`. */
  allowedOrigins?: readonly string[] | undefined;
  /**
   * Hosts at addresses that are not public, from which files of messages may come. Messages name files by URL, and
   * whoever fetches them may reach more than the caller does.
   */
  allowedFileHosts?: readonly string[] | "all" | undefined;
  limits?: Partial<ServerLimits> | undefined;
  /** A folder of built files that are served at `/`. */
  studio?: string | undefined;
}
