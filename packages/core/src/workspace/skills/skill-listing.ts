import { escapeText } from "../../message/render-signal.ts";
import type { SkillMetadata } from "./skill.ts";

const MOST_SKILLS = 100;
const MOST_BYTES = 16 * 1024;

export const SKILL_FORMATS = ["xml", "json", "markdown"] as const;
export type SkillFormat = (typeof SKILL_FORMATS)[number];

/** One line per skill. */
const LINES: Record<SkillFormat, (skill: SkillMetadata) => string> = {
  xml: ({ name, description, path, source }) =>
    `<skill><name>${name}</name><description>${inline(description)}</description><path>${inline(path)}</path><source>${source}</source></skill>`,
  json: ({ name, description, path, source }) => JSON.stringify({ name, description, path, source }),
  markdown: ({ name, description, path, source }) =>
    `- **${name}** (${source}, ${inline(path)}): ${inline(description)}`,
};

/** The skills as a text for the system message: the same bytes for the same skills. Undefined if there are none. */
export function skillListing(
  skills: readonly SkillMetadata[],
  format: SkillFormat = "xml",
): string | undefined {
  if (skills.length === 0) return undefined;
  const lines: string[] = [];
  let bytes = 0;
  for (const skill of skills.slice(0, MOST_SKILLS)) {
    const line = LINES[format](skill);
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MOST_BYTES) break;
    lines.push(line);
  }
  const left = skills.length - lines.length;
  return [
    "Skills are instructions for certain tasks. Before you start a task that a skill describes, load the skill with the tool skill. A skill grants no permissions.",
    "<available_skills>",
    ...lines,
    "</available_skills>",
    ...(left > 0 ? [`${left.toLocaleString("en")} more are not listed. Find them with skill_search.`] : []),
  ].join("\n");
}

function inline(text: string): string {
  return escapeText(text.replaceAll(/\s+/g, " ").trim());
}
