import { AgentError } from "../../errors.ts";
import { cutOutput } from "../cut-output.ts";
import { excerpt } from "../search/excerpt.ts";
import type { WorkspaceSkills } from "../skills/workspace-skills.ts";
import { toLines } from "../text-file.ts";
import { fields, type WorkspaceTool } from "./tool-frame.ts";

const SKILL_TOKENS = 12_000;
const SEARCH_TOKENS = 4000;
const NAME = { type: "string", minLength: 1, description: "The name or path of a skill." } as const;
const COMMON = {
  category: "read",
  readOnly: true,
  idempotent: true,
  hasPrefix: false,
} as const;

/** The tools of an agent that has skills. */
export function skillTools(skills: WorkspaceSkills): WorkspaceTool[] {
  return [skillTool(skills), skillSearchTool(skills), skillReadTool(skills)] as WorkspaceTool[];
}

function skillTool(skills: WorkspaceSkills): WorkspaceTool<{ name: string }> {
  return {
    ...COMMON,
    name: "skill",
    description: "Load the instructions of a skill.",
    maxOutputTokens: SKILL_TOKENS,
    inputSchema: fields({ name: NAME }),
    run: async ({ maxOutputTokens }, { name }) => cutOutput(await showSkill(skills, name), maxOutputTokens),
  };
}

/** A skill as a model reads it: its instructions, and which files it has. */
export async function showSkill(skills: WorkspaceSkills, nameOrPath: string): Promise<string> {
  const skill = await skills.get(nameOrPath);
  if (!skill) {
    const names = (await skills.list()).slice(0, 20).map(({ name }) => name);
    throw new AgentError(
      "not-found",
      `There is no skill ${JSON.stringify(nameOrPath)}. There are: ${names.join(", ") || "none"}.`,
    );
  }
  const { name, path, instructions } = skill;
  const folders = {
    references: await skills.listReferences(path),
    scripts: await skills.listScripts(path),
    assets: await skills.listAssets(path),
  };
  const lists = Object.entries(folders)
    .filter(([, files]) => files.length > 0)
    .map(([folder, files]) => `${folder}:\n${files.map((file) => `- ${folder}/${file}`).join("\n")}`);
  return [`Skill ${name} (${path})`, instructions, ...lists].join("\n\n");
}

function skillSearchTool(
  skills: WorkspaceSkills,
): WorkspaceTool<{ query: string; skillNames?: string[]; topK?: number }> {
  return {
    ...COMMON,
    name: "skill_search",
    description: "Search the skills and their references.",
    maxOutputTokens: SEARCH_TOKENS,
    inputSchema: fields(
      { query: { type: "string", minLength: 1, maxLength: 10_000 } },
      {
        skillNames: { type: "array", items: { type: "string" } },
        topK: { type: "integer", minimum: 1, maximum: 100, default: 5 },
      },
    ),
    async run({ maxOutputTokens }, { query, skillNames, topK = 5 }) {
      const found = await skills.search(query, { topK, ...(skillNames && { skillNames }) });
      const lines = found.map(({ skillName, source, content, lineRange }) => {
        const { start, end, text } = excerpt(content, query, lineRange.start);
        return `${skillName} ${source}:${start}-${end}:\n${text}`;
      });
      const count = found.length === 1 ? "1 result" : `${found.length} results`;
      return cutOutput([count, ...lines].join("\n\n"), maxOutputTokens);
    },
  };
}

function skillReadTool(
  skills: WorkspaceSkills,
): WorkspaceTool<{ skillName: string; path: string; startLine?: number; endLine?: number }> {
  return {
    ...COMMON,
    name: "skill_read",
    description: "Read a file of a skill, such as references/guide.md.",
    maxOutputTokens: SKILL_TOKENS,
    inputSchema: fields(
      {
        skillName: NAME,
        path: { type: "string", minLength: 1, description: "Path in the skill's directory." },
      },
      { startLine: { type: "integer", minimum: 1 }, endLine: { type: "integer", minimum: 1 } },
    ),
    async run({ maxOutputTokens }, { skillName, path, startLine = 1, endLine }) {
      const lines = toLines(await skills.read(skillName, path));
      if (startLine > Math.max(1, lines.length))
        return `${path} has ${lines.length} lines; line ${startLine} is past the end.`;
      const shown = lines.slice(startLine - 1, endLine);
      const header = `${path} (lines ${startLine}-${startLine + shown.length - 1} of ${lines.length})`;
      return cutOutput([header, ...shown].join("\n"), maxOutputTokens);
    },
  };
}
