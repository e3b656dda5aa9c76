import type {
  LanguageModelV2,
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";

/** The model contract inside Selvedge. Everything else is adapted to it once, in `resolve-model.ts`. */
export type LanguageModel = LanguageModelV4;
export type ModelPart = LanguageModelV4StreamPart;
export type ModelCallOptions = LanguageModelV4CallOptions;

/** An endpoint that speaks the OpenAI-compatible wire, or a `provider/model` with its own key or address. */
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
  model: ModelSpec;
  /** Retries of this entry before the next one is tried. */
  maxRetries?: number;
  enabled?: boolean;
  modelSettings?: ModelSettings;
  providerOptions?: Record<string, Record<string, unknown>>;
  headers?: Record<string, string>;
}

/** What `model` takes, besides a function that returns it. */
export type ModelConfig = ModelSpec | ModelFallback[];

/** A model ready to be called, with the settings that belong to it alone. */
export interface ModelCandidate {
  model: LanguageModel;
  maxRetries?: number;
  modelSettings?: ModelSettings;
  providerOptions?: Record<string, Record<string, unknown>>;
  headers?: Record<string, string>;
  /** Takes the key of this model out of a text that is going to be shown. */
  hideKey?: (text: string) => string;
}

/** How long a model may be silent, and its reply be. `0` switches a limit off. */
export interface ModelLimits {
  /** From the call to the first chunk. */
  firstChunkMs: number;
  /** Between two chunks. */
  chunkMs: number;
  /** From the call to the end of the reply. */
  totalMs: number;
  /** All that one reply brings; each part counts as its text and 100 bytes. */
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
   * Hands over every part, in turn, and resolves at the end. A promise that `take` answers is waited for. Throws what
   * `take` throws, `model-timeout` when a limit passed, the abort reason when the caller aborted, and `model-failed`
   * when the stream itself broke. To be called once.
   */
  each(take: (part: ModelPart) => void | Promise<void>): Promise<void>;
  /** Gives the reply up; `each` settles. */
  cancel(reason?: unknown): void;
}
