import type { Prompt as WirePrompt } from "@modelcontextprotocol/server";
import type { Prompt } from "./server/server-config.ts";

/** The metadata key for a prompt's version: the wire format has no field for it. */
export const PROMPT_VERSION_META = "selvedge/promptVersion";

export function withoutVersion({ version, ...prompt }: Prompt): WirePrompt {
  return version === undefined
    ? prompt
    : { ...prompt, _meta: { ...prompt._meta, [PROMPT_VERSION_META]: version } };
}

export function withVersion(prompt: WirePrompt): Prompt {
  const version = prompt._meta?.[PROMPT_VERSION_META];
  return typeof version === "string" ? { ...prompt, version } : prompt;
}
