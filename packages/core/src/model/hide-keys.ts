import type { ModelCandidate } from "./model.ts";

const HIDDEN = "[hidden]";
// Formats of provider keys, and the places where requests carry one.
const KEY_SHAPES: RegExp =
  /\b(?:sk|pk|rk|gsk|xai|pplx|nvapi|csk|fw|hf|key|tgp)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}/g;
const BEARER: RegExp = /\b(bearer\s+)[^\s"',;]+/gi;
const QUERY: RegExp = /([?&](?:api[-_]?key|key|token|access_token)=)[^&\s"']+/gi;

/** Removes keys from a provider's message, even if the provider repeats the one it received. */
export function hideKeys(text: string, candidate?: Pick<ModelCandidate, "hideKey" | "headers">): string {
  let safe = candidate?.hideKey ? candidate.hideKey(text) : text;
  for (const value of Object.values(candidate?.headers ?? {})) {
    if (value.length >= 8) safe = safe.replaceAll(value, HIDDEN);
  }
  return safe.replace(BEARER, `$1${HIDDEN}`).replace(QUERY, `$1${HIDDEN}`).replace(KEY_SHAPES, HIDDEN);
}

/** Replaces one known key. A closure, so that printing a candidate does not show the key. */
export function hiderOf(key: string): (text: string) => string {
  return (text) => (key === "" ? text : text.replaceAll(key, HIDDEN));
}
