import type { Mastra } from "@selvedge/core";
import type { Authorize } from "./caller.ts";

export interface ServerLimits {
  /** Maximum bytes of a request body. */
  bodyBytes: number;
  /** Maximum nesting depth of JSON. */
  jsonDepth: number;
  /**
   * Time for a body to arrive, in milliseconds. Every 64 KB received adds a second, for slow connections. 0 means no
   * limit.
   */
  bodyMs: number;
  /** Concurrent requests. Live streams are counted separately. */
  requests: number;
  /** Concurrent requests per resource, as identified by the authoriser. */
  requestsPerResource: number;
  /** Concurrent runs per resource, as identified by the authoriser. Runs that wait for a person do not count. */
  runsPerResource: number;
  /** Schedules per resource, as identified by the authoriser. */
  schedulesPerResource: number;
  /** Open connections. Only used by `serve()`. */
  connections: number;
  /** Open connections per IPv4 address or IPv6 /64 network. A proxy in front of the server needs more. */
  connectionsPerAddress: number;
  /** The longest silence on a live stream, in milliseconds. */
  heartbeatMs: number;
  /** How long a client may leave its stream full before it is disconnected, in milliseconds. */
  stallMs: number;
  /** How many bytes of a stream are buffered for a client. */
  streamBytes: number;
  /** Concurrent live streams. */
  streams: number;
  /** Concurrent live streams per resource, as identified by the authoriser. */
  streamsPerResource: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  bodyBytes: 8 << 20,
  jsonDepth: 64,
  bodyMs: 30_000,
  requests: 10_000,
  requestsPerResource: 100,
  runsPerResource: 100,
  schedulesPerResource: 100,
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
   * Identifies the sender of a request. Without it, the server trusts every caller and therefore only accepts requests
   * to loopback names (`localhost`, `127.0.0.1`, `::1`) and those in `allowedHosts`.
   */
  authorize?: Authorize | undefined;
  /** Host names, without ports, that the `Host` header may have. With an authoriser, the default is any. */
  allowedHosts?: readonly string[] | undefined;
  /** Origins of pages on other sites that may call, such as `https://app.example.com`. */
  allowedOrigins?: readonly string[] | undefined;
  /**
   * Hosts at private addresses from which files of messages may be loaded. Messages name files by URL, and the service
   * that fetches them may reach more than the caller can.
   */
  allowedFileHosts?: readonly string[] | "all" | undefined;
  limits?: Partial<ServerLimits> | undefined;
  /** A folder of built files to serve at `/`. */
  studio?: string | undefined;
}
