import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";

/** The options of a call. Refuses anything but an object, so that a missing one does not fail deep inside. */
export function checkOptions<Options extends object>(call: string, options: Options): Options {
  if (typeof options === "object" && options !== null) return options;
  throw new AgentError(
    "invalid-argument",
    `${call} needs an object with options, got ${showValue(options)}.`,
  );
}

/** The tags of a session: strings by name. */
export function checkTags(tags: unknown): Record<string, string> {
  if (tags === undefined) return {};
  const isFit =
    typeof tags === "object" &&
    tags !== null &&
    !Array.isArray(tags) &&
    Object.values(tags).every((value) => typeof value === "string");
  if (!isFit)
    throw new AgentError(
      "invalid-argument",
      `tags must be an object with string values, got ${showValue(tags)}.`,
    );
  for (const key of Object.keys(tags)) checkId("tag", key);
  return { ...(tags as Record<string, string>) };
}
