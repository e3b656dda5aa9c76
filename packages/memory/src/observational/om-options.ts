import type { TitleContext } from "@selvedge/core/memory";
import type { ModelCallOptions, ModelConfig, ModelSettings } from "@selvedge/core/model";
import type { Extractor } from "./extractor.ts";
import type { ModelByInputTokens } from "./model-by-input-tokens.ts";

/** A model of observational memory. `"default"` is the default model, even if the other role has another one. */
export type OmModel =
  | ModelConfig
  | "default"
  | ModelByInputTokens
  | ((context: TitleContext) => ModelConfig | Promise<ModelConfig>);

/** Milliseconds, a duration such as `"5m"` or `"1hr"`, or `"auto"`: as long as the provider keeps its prompt cache. */
export type IdleTime = number | string | false;

export interface OmHints {
  currentTask?: boolean;
  suggestedResponse?: boolean;
}

export type OmTrigger = "manual" | "turn-sync" | "async-buffer";

export interface OmHookStart {
  threadId?: string | undefined;
  resourceId?: string | undefined;
  trigger: OmTrigger;
}

export interface OmHookEnd extends OmHookStart {
  usage?: OmUsage | undefined;
  providerMetadata?: Record<string, unknown> | undefined;
  error?: unknown;
}

export interface OmUsage {
  inputTokens?: number | undefined;
  outputTokens?: number | undefined;
  totalTokens?: number | undefined;
}

/** Called around the work of each role. Errors are logged and change nothing. */
export interface OmHooks {
  onObservationStart?: (args: OmHookStart) => unknown;
  onObservationEnd?: (args: OmHookEnd) => unknown;
  onReflectionStart?: (args: OmHookStart) => unknown;
  onReflectionEnd?: (args: OmHookEnd) => unknown;
}

export interface RetrievalOptions {
  /** Also find messages by meaning. Needs the memory's vector store and embedder. */
  vector?: boolean;
  /** What `recall` may read: all threads of the resource (the default), or the current one. */
  scope?: "thread" | "resource";
  /** Added to the instructions for `recall`. */
  instructions?: string;
}

/** Options of both roles. */
export interface OmRoleOptions {
  model?: OmModel;
  /** Appended to the system prompt of this role. */
  instruction?: string;
  /** Which hints this role writes. Default: both. */
  continuationHints?: boolean | OmHints;
  extract?: readonly Extractor[];
  /** Above this many tokens, or this factor if below 100, a run waits. Default: 1.2. */
  blockAfter?: number;
  activateAfterIdle?: IdleTime;
  activateOnProviderChange?: boolean;
  modelSettings?: Pick<ModelSettings, "temperature" | "maxOutputTokens">;
  providerOptions?: ModelCallOptions["providerOptions"];
  /** The longest time a run waits for this role. Default: 30,000 ms. */
  maxWaitMs?: number;
}

export interface ObservationOptions extends OmRoleOptions {
  /** Unobserved tokens that trigger an observation. Default: 30,000. */
  messageTokens?: number;
  /**
   * Observe in the background after this many tokens; below 1, that share of `messageTokens`. `false`: never. Default:
   * 0.2.
   */
  bufferTokens?: number | false;
  /** The share of the window that an activation removes, or, from 1,000 on, the tokens it keeps. Default: 0.8. */
  bufferActivation?: number;
  /** Also observe when a turn ends. */
  bufferOnIdle?: boolean;
  /** How much of the log the observer sees; `false` for all of it. Default: 2,000. */
  previousObserverTokens?: number | false;
  /** Resource scope: how many tokens of threads are observed in one call. Default: 10,000. */
  maxTokensPerBatch?: number;
  /** Let the observer name the thread. */
  threadTitle?: boolean;
  /** Let the observer maintain the working memory. */
  manageWorkingMemory?: boolean;
  /** Which attachments the observer sees: all (the default), none, those its model can read (`"auto"`), or these MIME types. */
  observeAttachments?: "auto" | boolean | readonly string[];
}

export interface ReflectionOptions extends OmRoleOptions {
  /** The size of the log that triggers a reflection. Default: 40,000. */
  observationTokens?: number;
  /** The share of `observationTokens` at which a background reflection starts. Default: 0.5. */
  bufferActivation?: number;
}

/** `observationalMemory` of `Memory`. */
export interface ObservationalMemoryOptions {
  /** Only `false` switches it off. */
  enabled?: boolean;
  /** The model of both roles. */
  model?: OmModel;
  /** One log per thread (the default) or per resource. */
  scope?: "thread" | "resource";
  /** Activate buffered observations after a pause. */
  activateAfterIdle?: IdleTime;
  /** Activate buffered observations when the agent's model changes. */
  activateOnProviderChange?: boolean;
  /** Let messages use what the log leaves free. */
  shareTokenBudget?: boolean;
  /** Tell the model when a message arrives at least 10 minutes after the previous one. */
  temporalMarkers?: boolean;
  /** Keep message ranges in the log, and give the model the tool `recall`. */
  retrieval?: boolean | RetrievalOptions;
  hooks?: OmHooks;
  observation?: ObservationOptions;
  reflection?: ReflectionOptions;
}
