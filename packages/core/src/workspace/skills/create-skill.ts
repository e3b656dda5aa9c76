import { AgentError, showValue } from "../../errors.ts";
import { checkFrontmatter } from "./parse-skill.ts";
import type { InlineSkill } from "./skill.ts";

export interface CreateSkillOptions {
  name: string;
  description: string;
  /** What the model reads when it loads the skill. */
  instructions: string;
  /** More texts, by path. */
  references?: Record<string, string>;
  license?: string;
  compatibility?: string;
  /** Whether a user can start it with `/name`. Default: true. */
  "user-invocable"?: boolean;
  metadata?: Record<string, unknown>;
}

/** A skill in code, for `Agent({ skills })`. */
export function createSkill(options: CreateSkillOptions): InlineSkill {
  const { instructions, references = {}, ...fields } = options;
  const texts = { instructions, ...references };
  for (const [name, text] of Object.entries(texts)) {
    if (typeof text !== "string" || text.trim() === "") {
      throw new AgentError(
        "invalid-argument",
        `${name} of a skill must be a non-empty string, but got ${showValue(text)}.`,
      );
    }
  }
  const checked = checkFrontmatter(fields);
  return { ...checked, path: `agent:${checked.name}`, source: "agent", instructions, references };
}
