import type { TitleContext } from "@selvedge/core/memory";
import type { ModelCallOptions, ModelConfig, ModelSettings } from "@selvedge/core/model";
import type { Extractor } from "./extractor.ts";
import type { ModelByInputTokens } from "./model-by-input-tokens.ts";

/** A model of observational memory. `"default"` is the default model, also where the other role has another one. */
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

/** Called around the work of each role. What they throw is logged and changes nothing. */
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
  /** Added to what the model is told about `recall`. */
  instructions?: string;
}

/** What both roles accept. */
export interface OmRoleOptions {
  model?: OmModel;
  /** Appended to the system prompt of this role. */
  instruction?: string;
  /** Which hints this role writes. Both when absent. */
  continuationHints?: boolean | OmHints;
  extract?: readonly Extractor[];
  /** Above this many tokens, or this factor if it is below 100, a run waits. 1.2 when absent. */
  blockAfter?: number;
  activateAfterIdle?: IdleTime;
  activateOnProviderChange?: boolean;
  modelSettings?: Pick<ModelSettings, "temperature" | "maxOutputTokens">;
  providerOptions?: ModelCallOptions["providerOptions"];
  /** How long a run waits for this role, at most. 30,000 ms when absent. */
  maxWaitMs?: number;
}

export interface ObservationOptions extends OmRoleOptions {
  /** Unobserved tokens that trigger an observation. 30,000 when absent. */
  messageTokens?: number;
  /** Observe in the background after so many tokens; below 1, that share of `messageTokens`. `false`: never. 0.2 when absent. */
  bufferTokens?: number | false;
  /** The share of the window that an activation removes, or, from 1,000 on, the tokens it keeps. 0.8 when absent. */
  bufferActivation?: number;
  /** Also observe when a turn ends. */
  bufferOnIdle?: boolean;
  /** How much of the log the observer sees; `false` for all of it. 2,000 when absent. */
  previousObserverTokens?: number | false;
  /** Resource scope: how many tokens of threads are observed in one call. 10,000 when absent. */
  maxTokensPerBatch?: number;
  /** Let the observer name the thread. */
  threadTitle?: boolean;
  /** Let the observer keep the working memory. */
  manageWorkingMemory?: boolean;
  /** Which attachments the observer sees: all (the default), none, those its model can read (`"auto"`), or these MIME types. */
  observeAttachments?: "auto" | boolean | readonly string[];
}

export interface ReflectionOptions extends OmRoleOptions {
  /** The size of the log that triggers a reflection. 40,000 when absent. */
  observationTokens?: number;
  /** The share of `observationTokens` at which a reflection starts in the background. 0.5 when absent. */
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
  /** Tell the model when a message arrives at least 10 minutes after the one before. */
  temporalMarkers?: boolean;
  /** Keep message ranges in the log, and give the model the tool `recall`. */
  retrieval?: boolean | RetrievalOptions;
  hooks?: OmHooks;
  observation?: ObservationOptions;
  reflection?: ReflectionOptions;
}
