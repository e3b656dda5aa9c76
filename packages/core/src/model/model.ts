import type { RequestContext } from "../request-context/request-context.ts";
import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

/** Selvedge's internal model contract. Other models are adapted to it once, in `resolve-model.ts`. */
export type LanguageModel = LanguageModelV4;
export type ModelPart = LanguageModelV4StreamPart;
export type ModelCallOptions = LanguageModelV4CallOptions;

/** An OpenAI-compatible endpoint, or a `provider/model` with its own key or URL. */
export interface ModelEndpoint {
  id: string;
  url?: string;
  apiKey?: string;
  headers?: Record<string, string>;
}

/** One model, in any accepted spelling. */
export type ModelSpec = string | LanguageModelV2 | LanguageModelV3 | LanguageModelV4 | ModelEndpoint;

/** Sampling and transport settings of a model call. */
export interface ModelSettings {
  temperature?: number;
  maxOutputTokens?: number;
  topP?: number;
  topK?: number;
  presencePenalty?: number;
  frequencyPenalty?: number;
  stopSequences?: string[];
  seed?: number;
  maxRetries?: number;
  headers?: Record<string, string | undefined>;
}

/** One entry of a list of fallbacks, tried in order. */
export interface ModelFallback {
  /** A model, or a function of the request that gives one. */
  model: ModelSpec | ((context: { requestContext: RequestContext }) => ModelSpec | Promise<ModelSpec>);
  /** Retries of this entry before the next one is tried. */
  maxRetries?: number;
  enabled?: boolean;
  modelSettings?: ModelSettings;
  providerOptions?: Record<string, Record<string, unknown>>;
  headers?: Record<string, string>;
}

/** The type of `model`, besides a function that returns it. */
export type ModelConfig = ModelSpec | ModelFallback[];

/** A model ready to be called, with its own settings. */
export interface ModelCandidate {
  model: LanguageModel;
  maxRetries?: number;
  modelSettings?: ModelSettings;
  providerOptions?: Record<string, Record<string, unknown>>;
  headers?: Record<string, string>;
  /** Removes this model's key from a text that will be shown. */
  hideKey?: (text: string) => string;
}

/** Limits on a model's silence and on its reply. `0` disables a limit. */
export interface ModelLimits {
  /** From the call to the first chunk. */
  firstChunkMs: number;
  /** Between two chunks. */
  chunkMs: number;
  /** From the call to the end of the reply. */
  totalMs: number;
  /** The size of one reply; each part counts as its text plus 100 bytes. */
  replyBytes: number;
}

export const DEFAULT_MODEL_LIMITS: ModelLimits = {
  firstChunkMs: 120_000,
  chunkMs: 60_000,
  totalMs: 1_800_000,
  replyBytes: 16 << 20,
};

/** A reply being received. */
export interface ModelReply {
  readonly candidate: ModelCandidate;
  readonly request: { body?: unknown } | undefined;
  readonly response: { headers?: Record<string, string> } | undefined;
  /**
   * Passes every part to `take`, in order, and resolves at the end. Waits for a promise that `take` returns. Throws
   * what `take` throws, `model-timeout` when a limit is exceeded, the abort reason when the caller aborts, and
   * `model-failed` when the stream breaks. Call it once.
   */
  each(take: (part: ModelPart) => void | Promise<void>): Promise<void>;
  /** Abandons the reply; `each` settles. */
  cancel(reason?: unknown): void;
}
