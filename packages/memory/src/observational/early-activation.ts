import type { OmRoleConfig } from "./om-config.ts";

export interface EarlyActivationInput {
  /** Now, in milliseconds. */
  now: number;
  /** When the assistant last wrote something. */
  lastActivityAt: number | undefined;
  /** `provider/model` of the last assistant step, and of the next one. */
  previousModel: string | undefined;
  currentModel: string | undefined;
  /** OpenAI's `promptCacheRetention`, if the agent sets it. */
  promptCacheRetention?: unknown;
}

export type EarlyActivation =
  | { triggeredBy: "ttl"; lastActivityAt: number; ttlExpiredMs: number }
  | { triggeredBy: "provider_change"; previousModel: string; currentModel: string };

/** Why buffered results of a role should be activated before their threshold, if they should. */
export function earlyActivation(
  role: Pick<OmRoleConfig, "activateAfterIdle" | "activateOnProviderChange">,
  input: EarlyActivationInput,
): EarlyActivation | undefined {
  const { previousModel, currentModel, lastActivityAt, now } = input;
  const changed = previousModel !== undefined && currentModel !== undefined && previousModel !== currentModel;
  if (role.activateOnProviderChange && changed) {
    return { triggeredBy: "provider_change", previousModel, currentModel };
  }
  if (role.activateAfterIdle === undefined || lastActivityAt === undefined) return undefined;
  const ttl =
    role.activateAfterIdle === "auto"
      ? promptCacheMs(currentModel ?? "", input.promptCacheRetention)
      : role.activateAfterIdle;
  const ttlExpiredMs = now - lastActivityAt - ttl;
  return ttlExpiredMs >= 0 ? { triggeredBy: "ttl", lastActivityAt, ttlExpiredMs } : undefined;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const CACHE_MS: Readonly<Record<string, number>> = {
  deepseek: HOUR,
  groq: 2 * HOUR,
  google: 24 * HOUR,
  "google-vertex": 24 * HOUR,
  gemini: 24 * HOUR,
};

/** How long a provider keeps its prompt cache. `model` is `provider/model`. */
export function promptCacheMs(model: string, retention?: unknown): number {
  const [provider = "", ...rest] = model.split("/");
  if (provider !== "openai") return Object.hasOwn(CACHE_MS, provider) ? CACHE_MS[provider]! : 5 * MINUTE;
  if (retention === "in_memory") return 5 * MINUTE;
  if (retention === "24h") return HOUR;
  const [, major = 0, minor = 0] = /^gpt-(\d+)(?:\.(\d+))?/.exec(rest.join("/"))?.map(Number) ?? [];
  return major > 5 || (major === 5 && minor > 4) ? HOUR : 5 * MINUTE;
}
