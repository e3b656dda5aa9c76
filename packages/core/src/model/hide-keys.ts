import type { ModelCandidate } from "./model.ts";

const HIDDEN = "[hidden]";
// Shapes of the keys that providers give out, and the places where requests carry one.
const KEY_SHAPES: RegExp =
  /\b(?:sk|pk|rk|gsk|xai|pplx|nvapi|csk|fw|hf|key|tgp)[-_][A-Za-z0-9_-]{12,}|\bAIza[A-Za-z0-9_-]{20,}/g;
const BEARER: RegExp = /\b(bearer\s+)[^\s"',;]+/gi;
const QUERY: RegExp = /([?&](?:api[-_]?key|key|token|access_token)=)[^&\s"']+/gi;

/** A provider's words, safe to show: without keys, also when the provider repeats the one it was sent. */
export function hideKeys(text: string, candidate?: Pick<ModelCandidate, "hideKey" | "headers">): string {
  let safe = candidate?.hideKey ? candidate.hideKey(text) : text;
  for (const value of Object.values(candidate?.headers ?? {})) {
    if (value.length >= 8) safe = safe.replaceAll(value, HIDDEN);
  }
  return safe.replace(BEARER, `$1${HIDDEN}`).replace(QUERY, `$1${HIDDEN}`).replace(KEY_SHAPES, HIDDEN);
}

/** Replaces one known key. A closure, so that a candidate can be printed without showing it. */
export function hiderOf(key: string): (text: string) => string {
  return (text) => (key === "" ? text : text.replaceAll(key, HIDDEN));
}
