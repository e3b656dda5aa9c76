import { escapeText } from "../../message/render-signal.ts";
import type { SkillMetadata } from "./skill.ts";

const MOST_SKILLS = 100;
const MOST_BYTES = 16 * 1024;

/** The skills as a text for the system message: the same bytes for the same skills. Undefined if there are none. */
export function skillListing(skills: readonly SkillMetadata[]): string | undefined {
  if (skills.length === 0) return undefined;
  const lines: string[] = [];
  let bytes = 0;
  for (const { name, description, path, source } of skills.slice(0, MOST_SKILLS)) {
    const line = `<skill><name>${name}</name><description>${inline(description)}</description><path>${inline(path)}</path><source>${source}</source></skill>`;
    bytes += Buffer.byteLength(line) + 1;
    if (bytes > MOST_BYTES) break;
    lines.push(line);
  }
  const left = skills.length - lines.length;
  return [
    "Skills are instructions for certain tasks. Load one with the tool skill before a task that it describes. A skill grants no permissions.",
    "<available_skills>",
    ...lines,
    "</available_skills>",
    ...(left > 0 ? [`${left.toLocaleString("en")} more are not listed. Find them with skill_search.`] : []),
  ].join("\n");
}

function inline(text: string): string {
  return escapeText(text.replaceAll(/\s+/g, " ").trim());
}
