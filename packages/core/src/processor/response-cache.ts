import { createHash } from "node:crypto";
import type { AgentChunk } from "@selvedge/protocol";
import { RequestContext } from "../request-context/request-context.ts";
import { toJson } from "../json.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessLLMRequestArgs, ProcessLLMResponseArgs, Processor, ReadyResponse } from "./processor.ts";

/** Stores replies as strings. */
export interface ResponseCacheStore {
  get(key: string): string | undefined | null | Promise<string | undefined | null>;
  set(key: string, value: string, ttlMs: number): unknown;
}

/** The inputs of a reply's key. */
export interface ResponseCacheKeyInput {
  agentId: string;
  /** Replies are shared within this scope. */
  scope: string | null;
  model: { provider: string; modelId: string };
  request: ProcessLLMRequestArgs["request"];
  stepNumber: number;
}

/** Settings of one call; see `ResponseCache.context()`. */
export interface ResponseCacheContextOptions {
  key?: string | ((input: ResponseCacheKeyInput) => string | Promise<string>);
  /** Default: the resource id; `null` shares replies between all. */
  scope?: string | null;
  /** Call the model and replace the cached reply. */
  bust?: boolean;
}

export interface ResponseCacheOptions extends ResponseCacheContextOptions {
  cache: ResponseCacheStore;
  /** How long a reply is kept, in seconds. Default: 300. */
  ttl?: number;
  /** A part of the key. */
  agentId?: string;
}

export const DEFAULT_RESPONSE_CACHE_TTL_SECONDS = 300;
const DEFAULT_AGENT_ID = "mastra-response-cache";
const CONTEXT_KEY = "mastra__responseCache";

/** Caches the model's replies: the same request gets the same reply, without a call. */
export class ResponseCache implements Processor {
  readonly id = "mastra/response-cache";
  readonly #cache: ResponseCacheStore;
  readonly #ttlMs: number;
  readonly #agentId: string;
  readonly #options: ResponseCacheContextOptions;

  constructor(options: ResponseCacheOptions) {
    const check = new OptionChecks("ResponseCache");
    const { cache, ttl = DEFAULT_RESPONSE_CACHE_TTL_SECONDS, agentId = DEFAULT_AGENT_ID } = options ?? {};
    if (typeof cache?.get !== "function" || typeof cache.set !== "function")
      check.refuse("cache", cache, "an object with get and set");
    this.#cache = cache;
    this.#ttlMs = 1000 * check.number("ttl", ttl, 0.001);
    this.#agentId = check.string("agentId", agentId);
    this.#options = checkShared(check, options);
  }

  /** A request context with cache settings for one call. */
  static context(options: ResponseCacheContextOptions): RequestContext {
    return ResponseCache.applyContext(new RequestContext(), options);
  }

  /** Adds cache settings to a request context. */
  static applyContext(context: RequestContext, options: ResponseCacheContextOptions): RequestContext {
    context.set(CONTEXT_KEY, checkShared(new OptionChecks("ResponseCache.context"), options));
    return context;
  }

  async processLLMRequest(args: ProcessLLMRequestArgs): Promise<{ response: ReadyResponse } | undefined> {
    const { state, logger, requestContext, resourceId, request, model, stepNumber } = args;
    const own = requestContext.get(CONTEXT_KEY) as ResponseCacheContextOptions | undefined;
    const { key, scope = resourceId ?? null, bust } = { ...this.#options, ...own };
    delete state["key"];
    try {
      const input = { agentId: this.#agentId, scope, model, request, stepNumber };
      const given = typeof key === "function" ? await key(input) : key;
      state["key"] = given === undefined ? buildResponseCacheKey(input) : `${given}:${stepNumber}`;
      if (bust) return undefined;
      const text = await this.#cache.get(state["key"] as string);
      const response = text ? readResponse(text) : undefined;
      return response && { response };
    } catch (error) {
      logger.warn("The response cache failed, and the model is asked", error);
      return undefined;
    }
  }

  async processLLMResponse(args: ProcessLLMResponseArgs): Promise<void> {
    const { state, fromCache, finishReason, logger } = args;
    const key = state["key"] as string | undefined;
    if (fromCache || key === undefined || !CACHED_REASONS.has(finishReason)) return;
    try {
      await this.#cache.set(key, writeResponse(args), this.#ttlMs);
    } catch (error) {
      logger.warn("The response cache failed, and the reply is not kept", error);
    }
  }
}

const CACHED_REASONS: ReadonlySet<string> = new Set(["stop", "tool-calls", "length"]);

/** The key of a reply: equal requests have equal keys. */
export function buildResponseCacheKey({ request, ...rest }: ResponseCacheKeyInput): string {
  const { abortSignal: _, headers: __, includeRawChunks: ___, ...asked } = request;
  const hash = createHash("sha256");
  return hash.update(JSON.stringify(sorted({ ...rest, asked }))).digest("hex");
}

function sorted(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof URL || value instanceof Date) return value.toJSON();
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([name, item]) => [name, sorted(item)]));
}

function writeResponse({ chunks, finishReason, providerMetadata }: ProcessLLMResponseArgs): string {
  const kept = chunks.filter(({ type }) => type !== "raw");
  return JSON.stringify(toJson({ chunks: kept, finishReason, providerMetadata }));
}

function readResponse(text: string): ReadyResponse | undefined {
  const response = JSON.parse(text) as ReadyResponse;
  if (!Array.isArray(response?.chunks) || typeof response.finishReason !== "string") return undefined;
  return { ...response, chunks: response.chunks.map(withDate) };
}

function withDate(chunk: AgentChunk): AgentChunk {
  if (chunk.type !== "response-metadata" || !chunk.payload.timestamp) return chunk;
  return { ...chunk, payload: { ...chunk.payload, timestamp: new Date(chunk.payload.timestamp) } };
}

function checkShared(
  check: OptionChecks,
  { key, scope, bust }: ResponseCacheContextOptions,
): ResponseCacheContextOptions {
  if (key !== undefined && typeof key !== "string") check.func("key", key);
  if (scope !== undefined && scope !== null) check.string("scope", scope);
  if (bust !== undefined) check.boolean("bust", bust);
  return {
    ...(key !== undefined && { key }),
    ...(scope !== undefined && { scope }),
    ...(bust !== undefined && { bust }),
  };
}
