/** Where a skill is from. This order decides between equal names. */
export type SkillOrigin = "agent" | "local" | "managed" | "external";

export const SKILL_ORIGINS: readonly SkillOrigin[] = ["agent", "local", "managed", "external"];

/** What the frontmatter of a `SKILL.md` says. */
export interface SkillFrontmatter {
  name: string;
  description: string;
  license?: string;
  compatibility?: string;
  /** Whether a user can start it with `/name`. */
  "user-invocable": boolean;
  metadata?: Record<string, unknown>;
}

export interface SkillMetadata extends SkillFrontmatter {
  /** The directory of the skill, or `agent:<name>`. */
  path: string;
  source: SkillOrigin;
}

export interface Skill extends SkillMetadata {
  /** The body of `SKILL.md`. */
  instructions: string;
}

/** A skill that an agent has in its code. Made by `createSkill`. */
export interface InlineSkill extends Skill {
  source: "agent";
  /** Texts by path, for `skill_read`. */
  references: Readonly<Record<string, string>>;
}
