import type { Stream } from "node:stream";
import type { IOType } from "node:child_process";
import type {
  AuthProvider,
  ClientCapabilities,
  FetchLike,
  LoggingLevel,
  OAuthClientProvider,
  Progress,
  Root,
} from "@modelcontextprotocol/client";
import type { SamplingHandler, SamplingOptions } from "./sampling.ts";

/** A log message from a server or about its connection. */
export interface LogMessage {
  level: LoggingLevel;
  message: string;
  timestamp: Date;
  serverName: string;
  details?: Record<string, unknown>;
}

export type LogHandler = (message: LogMessage) => void;

/** An OAuth provider that receives the callback itself, so that connecting needs no second call. */
export interface WaitingOAuthProvider extends OAuthClientProvider {
  /** The query string of the callback URL, after `redirectToAuthorization`. */
  waitForCallback?(): Promise<URLSearchParams>;
  /** Rejects if that query does not belong to the flow the provider started. */
  verifyCallback?(query: URLSearchParams): Promise<void>;
  /** Called when the callback is no longer awaited. */
  abandonCallback?(): void;
  /** The server the provider's tokens are for. It cannot be used for another. */
  readonly serverUrl?: URL;
}

export interface MastraMCPServerDefinition {
  /** For stdio servers: the program, run without a shell in its own process group. */
  command?: string;
  args?: string[];
  /** Added to the few variables a child gets by default. */
  env?: Record<string, string>;
  cwd?: string;
  stderr?: IOType | Stream | number;
  /** For HTTP servers: streamable HTTP, with SSE as a fallback. */
  url?: URL | string;
  requestInit?: RequestInit;
  // The documented type; in practice the fetch of an EventSource.
  // oxlint-disable-next-line typescript/no-explicit-any
  eventSourceInit?: any;
  fetch?: FetchLike;
  authProvider?: AuthProvider | WaitingOAuthProvider;
  /** Milliseconds for the first attempt over streamable HTTP. */
  connectTimeout?: number;
  /** Allows redirects and authorization servers on private addresses although `url` is public. */
  allowPrivateAddresses?: boolean;
  logger?: LogHandler;
  /** The same as `logger`. */
  log?: LogHandler;
  /** Request timeout in milliseconds; progress restarts it, up to `maxTotalTimeout`. */
  timeout?: number;
  /** Total time for a request in milliseconds, regardless of progress. Default: ten times `timeout`. */
  maxTotalTimeout?: number;
  capabilities?: ClientCapabilities;
  enableServerLogs?: boolean;
  enableProgressTracking?: boolean;
  onProgress?: (progress: Progress & { tool: string }) => void;
  /** Folders the server may see, as `file://` URLs. Default: none. */
  roots?: Root[];
  /** Whether and how the server may request completions. Default: not at all. */
  sampling?: SamplingHandler | SamplingOptions;
  requireToolApproval?: boolean | ((call: { toolName: string; args: unknown }) => boolean | Promise<boolean>);
  /** Protocol version to use. Default: negotiated. */
  protocolVersion?: "2025-11-25" | "2026-07-28";
}
