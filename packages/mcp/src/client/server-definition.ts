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

/** A line a server logged, or that concerns its connection. */
export interface LogMessage {
  level: LoggingLevel;
  message: string;
  timestamp: Date;
  serverName: string;
  details?: Record<string, unknown>;
}

export type LogHandler = (message: LogMessage) => void;

/** An OAuth provider that can say where the user was sent back to, so that connecting needs no second call. */
export interface WaitingOAuthProvider extends OAuthClientProvider {
  /** The query of the callback URL, after `redirectToAuthorization`. */
  waitForCallback?(): Promise<URLSearchParams>;
  /** Rejects when that query does not belong to the flow the provider began. */
  verifyCallback?(query: URLSearchParams): Promise<void>;
  /** Nobody waits for the callback any more. */
  abandonCallback?(): void;
  /** The server the provider's tokens are for. It cannot be given to another. */
  readonly serverUrl?: URL;
}

export interface MastraMCPServerDefinition {
  /** For stdio servers: the program, run without a shell in a process group of its own. */
  command?: string;
  args?: string[];
  /** Added to the few variables a child gets by default. */
  env?: Record<string, string>;
  cwd?: string;
  stderr?: IOType | Stream | number;
  /** For HTTP servers: streamable HTTP, or SSE where that fails. */
  url?: URL | string;
  requestInit?: RequestInit;
  // The documents' own type for it; what it holds is the fetch of an EventSource.
  // oxlint-disable-next-line typescript/no-explicit-any
  eventSourceInit?: any;
  fetch?: FetchLike;
  authProvider?: AuthProvider | WaitingOAuthProvider;
  /** Milliseconds for the first attempt over streamable HTTP. */
  connectTimeout?: number;
  /** Lets redirects and authorization servers lie on private addresses although `url` does not. */
  allowPrivateAddresses?: boolean;
  logger?: LogHandler;
  /** The same as `logger`. */
  log?: LogHandler;
  /** Milliseconds for a request; progress starts it again, up to `maxTotalTimeout`. */
  timeout?: number;
  /** Milliseconds for a request, whatever progress it reports. Ten times `timeout` when absent. */
  maxTotalTimeout?: number;
  capabilities?: ClientCapabilities;
  enableServerLogs?: boolean;
  enableProgressTracking?: boolean;
  onProgress?: (progress: Progress & { tool: string }) => void;
  /** Folders the server may be told about, as `file://` addresses. None when absent. */
  roots?: Root[];
  /** Whether the server may ask for completions, and of whom. Not at all when absent. */
  sampling?: SamplingHandler | SamplingOptions;
  requireToolApproval?: boolean | ((call: { toolName: string; args: unknown }) => boolean | Promise<boolean>);
  /** Which generation of the protocol to speak; found out when absent. */
  protocolVersion?: "2025-11-25" | "2026-07-28";
}
