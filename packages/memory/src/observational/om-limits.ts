import { AgentError } from "@selvedge/core/errors";
import type { OmSettings } from "@selvedge/core/memory";
import { showValue } from "@selvedge/protocol";
import type { OmConfig } from "./om-config.ts";

/** Thresholds of one record that differ from the memory's configuration. */
export interface OmOverrides {
  messageTokens?: number | undefined;
  observationTokens?: number | undefined;
}

/** All thresholds of one record, in tokens. */
export interface OmLimits {
  /** Unobserved tokens at which chunks are activated. */
  readonly messageTokens: number;
  /** Unobserved tokens per background observation; `undefined` without background work. */
  readonly bufferTokens: number | undefined;
  /** Tokens of messages that an activation leaves in the prompt. */
  readonly keptTokens: number;
  /** Above this, a run waits for an observation. */
  readonly blockMessagesAbove: number;
  /** The size of the log at which a reflection replaces chunks. */
  readonly observationTokens: number;
  /** The size at which it starts in the background; the threshold itself without background work. */
  readonly reflectFrom: number;
  readonly blockLogAbove: number;
}

/**
 * The thresholds of a record whose log has `logTokens`. With a shared budget, messages may use what the log leaves
 * free. An override below `bufferTokens` makes the interval smaller.
 */
export function omLimits(config: OmConfig, overrides: OmOverrides = {}, logTokens = 0): OmLimits {
  const { observation, reflection, shareTokenBudget } = config;
  const base = overrides.messageTokens ?? observation.messageTokens;
  const observationTokens = overrides.observationTokens ?? reflection.observationTokens;
  const messageTokens = shareTokenBudget ? Math.max(base, base + observationTokens - logTokens) : base;
  const { bufferTokens: interval, bufferActivation } = observation;
  const buffered =
    interval === false ? undefined : interval < 1 ? interval * base : Math.min(interval, base - 1);
  const kept = bufferActivation <= 1 ? messageTokens * (1 - bufferActivation) : bufferActivation;
  return {
    messageTokens,
    bufferTokens: buffered === undefined ? undefined : Math.max(1, Math.round(buffered)),
    keptTokens: Math.min(Math.round(kept), messageTokens - 1),
    blockMessagesAbove: blockAbove(observation.blockAfter, messageTokens),
    observationTokens,
    reflectFrom:
      buffered === undefined
        ? observationTokens
        : Math.round(reflection.bufferActivation * observationTokens),
    blockLogAbove: blockAbove(reflection.blockAfter, observationTokens),
  };
}

/**
 * The overridden thresholds of a record: its own (`updateObservationalMemoryConfig`), then the session's. A controller's
 * default counts if the memory's configuration has none.
 */
export function overridesOf(
  { observation, reflection }: OmConfig,
  record: unknown,
  settings: OmSettings | undefined,
): OmOverrides {
  const own = (record ?? {}) as {
    observation?: { messageTokens?: number };
    reflection?: { observationTokens?: number };
  };
  const set = (role: "observation" | "reflection", isConfigured: boolean): number | undefined => {
    const { chosen, usual } = settings?.[role] ?? {};
    return chosen?.threshold ?? (isConfigured ? undefined : usual?.threshold);
  };
  return {
    messageTokens: own.observation?.messageTokens ?? set("observation", observation.hasThreshold),
    observationTokens: own.reflection?.observationTokens ?? set("reflection", reflection.hasThreshold),
  };
}

function blockAbove(blockAfter: number | undefined, threshold: number): number {
  if (blockAfter === undefined) return threshold;
  return Math.max(threshold, Math.round(blockAfter < 100 ? blockAfter * threshold : blockAfter));
}

/** The thresholds of `updateObservationalMemoryConfig({ config })`. Throws on an invalid value. */
export function checkOverrides(given: {
  observation?: { messageTokens?: unknown } | undefined;
  reflection?: { observationTokens?: unknown } | undefined;
}): OmOverrides {
  const overrides: OmOverrides = {};
  const take = (path: string, value: unknown, set: (tokens: number) => void): void => {
    if (value === undefined) return;
    if (!Number.isSafeInteger(value) || (value as number) <= 0) {
      throw new AgentError(
        "invalid-argument",
        `\`config.${path}\` must be a positive whole number of tokens, got ${showValue(value)}.`,
      );
    }
    set(value as number);
  };
  take("observation.messageTokens", given.observation?.messageTokens, (n) => (overrides.messageTokens = n));
  take(
    "reflection.observationTokens",
    given.reflection?.observationTokens,
    (n) => (overrides.observationTokens = n),
  );
  return overrides;
}
