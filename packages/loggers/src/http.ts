import type { TransformCallback } from "node:stream";
import { AgentError } from "@selvedge/core/errors";
import { LoggerTransport } from "./transport.ts";

export interface HttpTransportOptions {
  url: string;
  method?: "POST" | "PUT" | "PATCH";
  headers?: Record<string, string>;
  /** Records in one request. Default: 100. */
  batchSize?: number;
  /** How long a record may wait, in milliseconds. Default: 10,000. */
  flushInterval?: number;
  /** Milliseconds for one request. Default: 30,000. */
  timeout?: number;
  /** Further attempts after a failure. Default: 3. */
  retryOptions?: { maxRetries?: number; retryDelay?: number };
}

const MOST_WAITING = 10_000;

/** Sends records to a URL, in batches: `{ logs: [...] }`. If the URL is down, the oldest beyond 10,000 are dropped. */
export class HttpTransport extends LoggerTransport {
  readonly #options: HttpTransportOptions;
  #waiting: unknown[] = [];
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();

  constructor(options: HttpTransportOptions) {
    super();
    if (!/^https?:/.test(URL.canParse(options?.url) ? options.url : ""))
      throw new AgentError(
        "invalid-argument",
        `HttpTransport needs an http(s) URL, got ${String(options?.url)}.`,
      );
    this.#options = options;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    const text = chunk.toString();
    try {
      this.#waiting.push(JSON.parse(text));
    } catch {
      this.#waiting.push({ msg: text.trimEnd() });
    }
    if (this.#waiting.length > MOST_WAITING) this.#waiting.shift();
    if (this.#waiting.length >= (this.#options.batchSize ?? 100)) void this.flush();
    this.#timer ??= setTimeout(() => void this.flush(), this.#options.flushInterval ?? 10_000).unref();
    done(null, chunk);
  }

  override flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sending = this.#sending.then(() => this.#send());
    return this.#sending;
  }

  override _flush(done: TransformCallback): void {
    void this.flush().then(() => done());
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    done(error);
  }

  async #send(): Promise<void> {
    const { url, method = "POST", headers, batchSize = 100, timeout = 30_000, retryOptions } = this.#options;
    while (this.#waiting.length > 0) {
      const logs = this.#waiting.slice(0, batchSize);
      const request = {
        method,
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ logs }),
      };
      const attempt = () => fetch(url, { ...request, signal: AbortSignal.timeout(timeout) });
      if (!(await succeeds(attempt, retryOptions))) {
        console.error(`[selvedge] ${logs.length} log records could not be sent to ${new URL(url).host}.`);
        return;
      }
      this.#waiting.splice(0, logs.length);
    }
  }
}

async function succeeds(
  attempt: () => Promise<Response>,
  { maxRetries = 3, retryDelay = 1000 }: NonNullable<HttpTransportOptions["retryOptions"]> = {},
): Promise<boolean> {
  for (let tries = 0; ; tries++) {
    const response = await attempt().catch(() => undefined);
    await response?.body?.cancel().catch(() => {});
    if (response?.ok) return true;
    if (tries >= maxRetries) return false;
    await new Promise((resolve) => setTimeout(resolve, retryDelay * 2 ** tries));
  }
}
