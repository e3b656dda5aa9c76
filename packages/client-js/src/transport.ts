import { AgentError, backoff } from "@selvedge/protocol";
import { type AnyRoute, routePath } from "@selvedge/protocol/routes";
import { pause } from "./pause.ts";
import type { ClientOptions, Headers } from "./client-options.ts";
import { connectionError, errorFromResponse } from "./wire-error.ts";

/** Options of every route call. */
export interface RequestInput {
  params?: object;
  query?: object;
  body?: object;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
}

const RETRIES = 3;
const BACKOFF_MS = 300;
const MAX_BACKOFF_MS = 5000;

/** Sends requests, retries repeatable ones, and turns failures into `AgentError`s. */
export class Transport {
  readonly #options: ClientOptions;
  readonly #base: string;

  constructor(options: ClientOptions) {
    if (typeof options?.baseUrl !== "string")
      throw new AgentError(
        "invalid-argument",
        `baseUrl must be the URL of a server, got ${String(options?.baseUrl)}.`,
      );
    this.#options = options;
    this.#base = options.baseUrl.replace(/\/+$/, "");
  }

  /**
   * Returns the result of `read` for a route's response. Retries only if `repeatable`: a lost response does not tell
   * whether the server executed the request.
   */
  async request<Answer>(
    route: AnyRoute,
    input: RequestInput,
    repeatable: boolean,
    read: (response: Response) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    const { retries = RETRIES, backoffMs = BACKOFF_MS, maxBackoffMs = MAX_BACKOFF_MS } = this.#options;
    const signal = joinSignals(this.#options.abortSignal, input.signal);
    checkParams(route, input.params);
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#once(route, input, signal, read);
      if ("answer" in outcome) return outcome.answer;
      if (!repeatable || !outcome.error.retryable || attempt >= retries) throw outcome.error;
      const waitMs = backoff(attempt, Math.random(), { firstMs: backoffMs, capMs: maxBackoffMs });
      await pause(Math.max(outcome.waitMs, waitMs), signal);
      signal?.throwIfAborted();
    }
  }

  async #once<Answer>(
    route: AnyRoute,
    { params, query, body, headers }: RequestInput,
    signal: AbortSignal | undefined,
    read: (response: Response) => Answer | Promise<Answer>,
  ): Promise<{ answer: Answer } | { error: AgentError; waitMs: number }> {
    const { fetch = globalThis.fetch, credentials } = this.#options;
    const path = routePath(route.path, params as Record<string, string>, query as Record<string, unknown>);
    const url = this.#base + path;
    const init: RequestInit = {
      method: route.method,
      headers: {
        accept: route.kind === "sse" ? "text/event-stream" : "application/json",
        ...(body !== undefined && { "content-type": "application/json" }),
        ...(await resolveHeaders(this.#options.headers)),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(credentials !== undefined && { credentials }),
      ...(signal && { signal }),
    };
    try {
      const response = await fetch(url, init);
      if (response.ok) return { answer: await read(response) };
      return { error: await errorFromResponse(response), waitMs: retryAfter(response) };
    } catch (cause) {
      signal?.throwIfAborted();
      return {
        error: connectionError(`${route.method} ${url} received no complete response`, cause),
        waitMs: 0,
      };
    }
  }
}

/** An empty name, `.` and `..` would lead to another route. */
function checkParams({ path }: AnyRoute, params: object = {}): void {
  for (const [name, value] of Object.entries(params)) {
    if (typeof value === "string" && value !== "" && value !== "." && value !== "..") continue;
    throw new AgentError(
      "invalid-argument",
      `${name} must be a non-empty name in ${path}, got ${JSON.stringify(value) ?? "nothing"}.`,
    );
  }
}

async function resolveHeaders(headers: Headers | undefined): Promise<Record<string, string>> {
  return typeof headers === "function" ? await headers() : (headers ?? {});
}

function retryAfter(response: Response): number {
  const seconds = Number(response.headers.get("retry-after") ?? 0);
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds, 0), 60) * 1000 : 0;
}

function joinSignals(...signals: (AbortSignal | undefined)[]): AbortSignal | undefined {
  const given = signals.filter((signal) => signal !== undefined);
  return given.length > 1 ? AbortSignal.any(given) : given[0];
}
