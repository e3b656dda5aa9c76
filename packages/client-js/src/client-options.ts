export type Headers =
  | Record<string, string>
  | (() => Record<string, string> | Promise<Record<string, string>>);

export interface ClientOptions {
  /** Where the server is, with the path it is mounted under. */
  baseUrl: string;
  /** Sent with every request. A function is asked each time, for tokens that expire. */
  headers?: Headers;
  /** In place of the global one. */
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  credentials?: NonNullable<RequestInit["credentials"]>;
  /** How often a request is repeated that may be: reads, and sends, which carry a key. 3 by default. */
  retries?: number;
  /** The first wait before a repetition; it doubles. 300 by default. */
  backoffMs?: number;
  /** 5000 by default. */
  maxBackoffMs?: number;
  /** Ends every request of this client. */
  abortSignal?: AbortSignal;
}
