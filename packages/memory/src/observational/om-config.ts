import { AgentError } from "@selvedge/core/errors";
import type { ModelCallOptions, ModelSettings } from "@selvedge/core/model";
import { isObject, showValue } from "@selvedge/protocol";
import { Extractor, RESERVED_SLUGS, WorkingMemoryExtractor } from "./extractor.ts";
import type {
  ObservationalMemoryOptions,
  ObservationOptions,
  OmHooks,
  OmModel,
  OmRoleOptions,
  ReflectionOptions,
} from "./om-options.ts";
import { readDuration } from "./read-duration.ts";

/** Used if no model is configured. */
export const DEFAULT_OM_MODEL = "google/gemini-2.5-flash";

/** One role's validated options, with defaults. */
export interface OmRoleConfig {
  /** The threshold was configured: a controller's default does not replace it. */
  readonly hasThreshold: boolean;
  /** `undefined` for the default model. */
  readonly model: OmModel | undefined;
  readonly instruction: string | undefined;
  readonly hints: { readonly currentTask: boolean; readonly suggestedResponse: boolean };
  readonly extract: readonly Extractor[];
  /** As given: a factor below 100, otherwise tokens. `undefined` without buffering. */
  readonly blockAfter: number | undefined;
  /** Milliseconds. */
  readonly activateAfterIdle: number | "auto" | undefined;
  readonly activateOnProviderChange: boolean;
  readonly modelSettings: Pick<ModelSettings, "temperature" | "maxOutputTokens">;
  readonly providerOptions: ModelCallOptions["providerOptions"];
  readonly maxWaitMs: number;
}

export interface ObservationConfig extends OmRoleConfig {
  readonly messageTokens: number;
  /** As given: a share below 1, otherwise tokens. */
  readonly bufferTokens: number | false;
  /** As given: a share up to 1, otherwise the tokens to keep. */
  readonly bufferActivation: number;
  readonly bufferOnIdle: boolean;
  readonly previousObserverTokens: number | false;
  readonly maxTokensPerBatch: number;
  readonly threadTitle: boolean;
  readonly manageWorkingMemory: boolean;
  readonly observeAttachments: "auto" | boolean | readonly string[];
}

export interface ReflectionConfig extends OmRoleConfig {
  readonly observationTokens: number;
  readonly bufferActivation: number;
}

export interface RetrievalConfig {
  readonly vector: boolean;
  readonly scope: "thread" | "resource";
  readonly instructions: string | undefined;
}

/** The validated options of observational memory, with defaults. */
export interface OmConfig {
  readonly scope: "thread" | "resource";
  readonly shareTokenBudget: boolean;
  readonly temporalMarkers: boolean;
  readonly retrieval: RetrievalConfig | undefined;
  readonly hooks: OmHooks;
  readonly observation: ObservationConfig;
  readonly reflection: ReflectionConfig;
}

/**
 * The configuration for these options; `undefined` if observational memory is off. Throws `invalid-argument` with the
 * path and value of an invalid option.
 */
export function resolveOmConfig(
  options: boolean | ObservationalMemoryOptions | undefined,
  has: { vector: boolean; embedder: boolean } = { vector: false, embedder: false },
): OmConfig | undefined {
  if (options === undefined || options === false) return undefined;
  if (options !== true && !isObject(options)) refuse("", options, "true, false or an object");
  const given: ObservationalMemoryOptions = options === true ? {} : options;
  if (!flag("enabled", given.enabled, true)) return undefined;
  const observation = part<ObservationOptions>("observation", given.observation);
  const reflection = part<ReflectionOptions>("reflection", given.reflection);
  const role = observation.model === undefined ? "reflection" : "observation";
  if (given.model !== undefined && (observation.model ?? reflection.model) !== undefined) {
    refuse(
      "model",
      given.model,
      `omitted if \`${PATH}.${role}.model\` is set: set one model for both roles, or one per role`,
    );
  }
  const buffers = observation.bufferTokens !== false;
  return {
    scope: oneOf("scope", given.scope ?? "thread", ["thread", "resource"]),
    shareTokenBudget: flag("shareTokenBudget", given.shareTokenBudget, false),
    temporalMarkers: flag("temporalMarkers", given.temporalMarkers, false),
    retrieval: retrievalConfig(given.retrieval, has),
    hooks: hooksOf(given.hooks),
    observation: observationConfig(observation, given, reflection.model, buffers),
    reflection: reflectionConfig(reflection, given.model ?? observation.model, buffers),
  };
}

/** Whether a call uses the memory's observational memory. A call can switch it off and change nothing else. */
export function isOnForCall(call: unknown, config: OmConfig | undefined): boolean {
  if (call === undefined) return config !== undefined;
  const isOn = isObject(call) ? call["enabled"] !== false : call;
  if (typeof isOn !== "boolean") refuse("", call, "true, false or { enabled }");
  const other = isObject(call) ? Object.keys(call).find((key) => key !== "enabled") : undefined;
  if (other !== undefined) {
    const value = (call as Record<string, unknown>)[other];
    const advice =
      "A call can only switch it off: stored observations depend on the rest. Use updateObservationalMemoryConfig()";
    refuse(other, value, `set in new Memory({ options: { observationalMemory } }). ${advice}`);
  }
  if (isOn && !config) refuse("", call, "enabled in new Memory({ options: { observationalMemory } }) first");
  return isOn;
}

function observationConfig(
  given: ObservationOptions,
  top: ObservationalMemoryOptions,
  otherModel: OmModel | undefined,
  buffers: boolean,
): ObservationConfig {
  const at = "observation";
  const messageTokens = tokens(`${at}.messageTokens`, given.messageTokens ?? 30_000);
  const bufferTokens = given.bufferTokens ?? 0.2;
  if (
    bufferTokens !== false &&
    !(isNumber(bufferTokens) && bufferTokens > 0 && bufferTokens < messageTokens)
  ) {
    refuse(
      `${at}.bufferTokens`,
      bufferTokens,
      `above 0 and below messageTokens (${messageTokens}), or false`,
    );
  }
  const bufferActivation = given.bufferActivation ?? 0.8;
  const isShare = isNumber(bufferActivation) && bufferActivation > 0 && bufferActivation <= 1;
  if (
    !isShare &&
    !(isNumber(bufferActivation) && bufferActivation >= 1000 && bufferActivation < messageTokens)
  ) {
    refuse(
      `${at}.bufferActivation`,
      bufferActivation,
      `a share above 0 and up to 1, or tokens to keep from 1000 to below messageTokens (${messageTokens})`,
    );
  }
  const previous = given.previousObserverTokens ?? 2000;
  if (previous !== false && !(Number.isFinite(previous) && previous >= 0)) {
    refuse(`${at}.previousObserverTokens`, previous, "0 or more tokens, or false for the whole log");
  }
  const manageWorkingMemory = flag(`${at}.manageWorkingMemory`, given.manageWorkingMemory, false);
  const role = roleConfig(at, given, given.model ?? top.model ?? otherModel, {
    temperature: 0.3,
    thinkingBudget: 215,
    threshold: messageTokens,
    buffers,
    activateAfterIdle: given.activateAfterIdle ?? idleTime("activateAfterIdle", top.activateAfterIdle),
    activateOnProviderChange: flag("activateOnProviderChange", top.activateOnProviderChange, false),
  });
  const keepsIt = role.extract.some((one) => one instanceof WorkingMemoryExtractor);
  return {
    ...role,
    hasThreshold: given.messageTokens !== undefined,
    extract: manageWorkingMemory && !keepsIt ? [...role.extract, new WorkingMemoryExtractor()] : role.extract,
    messageTokens,
    bufferTokens,
    bufferActivation,
    bufferOnIdle: flag(`${at}.bufferOnIdle`, given.bufferOnIdle, false),
    previousObserverTokens: previous,
    maxTokensPerBatch: tokens(`${at}.maxTokensPerBatch`, given.maxTokensPerBatch ?? 10_000),
    threadTitle: flag(`${at}.threadTitle`, given.threadTitle, false),
    manageWorkingMemory,
    observeAttachments: attachments(`${at}.observeAttachments`, given.observeAttachments ?? true),
  };
}

function reflectionConfig(
  given: ReflectionOptions,
  otherModel: OmModel | undefined,
  buffers: boolean,
): ReflectionConfig {
  const at = "reflection";
  const observationTokens = tokens(`${at}.observationTokens`, given.observationTokens ?? 40_000);
  const bufferActivation = given.bufferActivation ?? 0.5;
  if (!(isNumber(bufferActivation) && bufferActivation > 0 && bufferActivation <= 1)) {
    refuse(`${at}.bufferActivation`, bufferActivation, "a share above 0 and up to 1");
  }
  const role = roleConfig(at, given, given.model ?? otherModel, {
    temperature: 0,
    thinkingBudget: 1024,
    threshold: observationTokens,
    buffers,
    activateAfterIdle: given.activateAfterIdle,
    activateOnProviderChange: false,
  });
  const hasThreshold = given.observationTokens !== undefined;
  return { ...role, hasThreshold, observationTokens, bufferActivation };
}

interface RoleDefaults {
  temperature: number;
  thinkingBudget: number;
  threshold: number;
  buffers: boolean;
  activateAfterIdle: number | string | false | undefined;
  activateOnProviderChange: boolean;
}

function roleConfig(
  at: "observation" | "reflection",
  given: OmRoleOptions,
  model: OmModel | undefined,
  defaults: RoleDefaults,
): Omit<OmRoleConfig, "hasThreshold"> {
  const { temperature, thinkingBudget, threshold, buffers } = defaults;
  if (model !== undefined && !["string", "object", "function"].includes(typeof model)) {
    refuse(`${at}.model`, model, "a model");
  }
  const own = model === "default" ? undefined : model;
  const settings = part<NonNullable<OmRoleOptions["modelSettings"]>>(
    `${at}.modelSettings`,
    given.modelSettings,
  );
  const maxWaitMs = given.maxWaitMs ?? 30_000;
  if (!(isNumber(maxWaitMs) && maxWaitMs >= 0))
    refuse(`${at}.maxWaitMs`, maxWaitMs, "0 or more milliseconds");
  return {
    model: own,
    instruction: text(`${at}.instruction`, given.instruction),
    hints: hintsOf(`${at}.continuationHints`, given.continuationHints),
    extract: extractors(`${at}.extract`, given.extract),
    blockAfter: blockAfter(`${at}.blockAfter`, given.blockAfter, threshold, buffers),
    activateAfterIdle: idleTime(`${at}.activateAfterIdle`, defaults.activateAfterIdle),
    activateOnProviderChange: flag(
      `${at}.activateOnProviderChange`,
      given.activateOnProviderChange,
      defaults.activateOnProviderChange,
    ),
    modelSettings: { temperature, ...(own === undefined && { maxOutputTokens: 100_000 }), ...settings },
    providerOptions: given.providerOptions ?? { google: { thinkingConfig: { thinkingBudget } } },
    maxWaitMs,
  };
}

function blockAfter(path: string, given: unknown, threshold: number, buffers: boolean): number | undefined {
  if (given === undefined) return buffers ? 1.2 : undefined;
  if (!buffers)
    refuse(
      path,
      given,
      "omitted if observation.bufferTokens is false, because a run then waits at the threshold",
    );
  if (isNumber(given) && ((given >= 1 && given < 100) || (given >= 100 && given >= threshold))) return given;
  return refuse(
    path,
    given,
    `a factor from 1 to below 100, or at least as many tokens as the threshold (${threshold})`,
  );
}

function retrievalConfig(
  given: ObservationalMemoryOptions["retrieval"],
  has: { vector: boolean; embedder: boolean },
): RetrievalConfig | undefined {
  if (given === undefined || given === false) return undefined;
  if (given !== true && !isObject(given)) refuse("retrieval", given, "true, false or an object");
  const { vector, scope = "resource", instructions } = given === true ? {} : given;
  if (flag("retrieval.vector", vector, false) && !(has.vector && has.embedder)) {
    refuse("retrieval.vector", vector, "false unless the memory has a `vector` store and an `embedder`");
  }
  return {
    vector: vector === true,
    scope: oneOf("retrieval.scope", scope, ["thread", "resource"]),
    instructions: text("retrieval.instructions", instructions),
  };
}

function extractors(path: string, given: unknown): readonly Extractor[] {
  if (given === undefined) return [];
  if (!Array.isArray(given)) refuse(path, given, "a list of extractors");
  const seen = new Set<string>();
  (given as readonly unknown[]).forEach((one, index) => {
    const at = `${path}[${index}]`;
    if (!(one instanceof Extractor)) refuse(at, one, "an Extractor");
    const { slug, name, instructions } = one as Extractor;
    if (slug === "") refuse(`${at}.name`, name, "a name with at least one letter or digit");
    if (RESERVED_SLUGS.has(slug)) refuse(`${at}.name`, name, `another name: "${slug}" is reserved`);
    if (seen.has(slug)) refuse(`${at}.name`, name, `a different name: "${slug}" is used twice`);
    seen.add(slug);
    const isText = typeof instructions === "string" && instructions.trim() !== "";
    if (!isText && typeof instructions !== "function")
      refuse(`${at}.instructions`, instructions, "a non-empty string or a function");
  });
  return given as readonly Extractor[];
}

function hintsOf(path: string, given: unknown): OmRoleConfig["hints"] {
  if (given === undefined || typeof given === "boolean") {
    return { currentTask: given ?? true, suggestedResponse: given ?? true };
  }
  if (!isObject(given)) refuse(path, given, "true, false or { currentTask, suggestedResponse }");
  const hints = given as Record<string, unknown>;
  return {
    currentTask: flag(`${path}.currentTask`, hints["currentTask"], true),
    suggestedResponse: flag(`${path}.suggestedResponse`, hints["suggestedResponse"], true),
  };
}

function hooksOf(given: unknown): OmHooks {
  const hooks = part<OmHooks>("hooks", given);
  for (const [name, hook] of Object.entries(hooks)) {
    if (hook !== undefined && typeof hook !== "function") refuse(`hooks.${name}`, hook, "a function");
  }
  return hooks;
}

function attachments(path: string, given: unknown): ObservationConfig["observeAttachments"] {
  const isList = Array.isArray(given) && given.every((one) => typeof one === "string" && one.includes("/"));
  if (given === "auto" || typeof given === "boolean" || isList) return given as "auto";
  return refuse(path, given, 'true, false, "auto" or a list of MIME types such as "image/*"');
}

function idleTime(path: string, given: unknown): number | "auto" | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === "auto") return given;
  return readDuration(given) ?? refuse(path, given, 'milliseconds, a duration such as "5m", "auto" or false');
}

const PATH = "observationalMemory";

function part<Options extends object>(path: string, given: unknown): Options {
  if (given === undefined) return {} as Options;
  return isObject(given) ? (given as Options) : refuse(path, given, "an object");
}

function tokens(path: string, given: unknown): number {
  return Number.isSafeInteger(given) && (given as number) > 0
    ? (given as number)
    : refuse(path, given, "a positive whole number of tokens");
}

function text(path: string, given: unknown): string | undefined {
  return given === undefined || typeof given === "string" ? given : refuse(path, given, "a string");
}

function flag(path: string, given: unknown, usual: boolean): boolean {
  if (given === undefined) return usual;
  return typeof given === "boolean" ? given : refuse(path, given, "true or false");
}

function oneOf<Value extends string>(path: string, given: unknown, allowed: readonly Value[]): Value {
  if (allowed.includes(given as Value)) return given as Value;
  return refuse(path, given, `one of ${allowed.map((one) => `"${one}"`).join(", ")}`);
}

function isNumber(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value);
}

function refuse(path: string, value: unknown, wanted: string): never {
  const name = path === "" ? PATH : `${PATH}.${path}`;
  const shown = typeof value === "number" ? String(value) : showValue(value);
  throw new AgentError("invalid-argument", `\`${name}\` must be ${wanted}, got ${shown}.`);
}
