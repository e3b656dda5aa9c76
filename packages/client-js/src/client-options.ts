export type Headers =
  | Record<string, string>
  | (() => Record<string, string> | Promise<Record<string, string>>);

export interface ClientOptions {
  /** The server's URL, with the path it is mounted under. */
  baseUrl: string;
  /** Sent with every request. A function is called each time, for tokens that expire. */
  headers?: Headers;
  /** Replaces the global `fetch`. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  credentials?: NonNullable<RequestInit["credentials"]>;
  /** How often repeatable requests are retried: reads, and sends, which carry a key. Default: 3. */
  retries?: number;
  /** The first retry delay in milliseconds; it doubles. Default: 300. */
  backoffMs?: number;
  /** Default: 5000. */
  maxBackoffMs?: number;
  /** Aborts every request of this client. */
  abortSignal?: AbortSignal;
}
