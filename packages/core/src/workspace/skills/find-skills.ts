import { AgentError } from "../../errors.ts";
import { normalize } from "../find-entries.ts";
import { globber } from "../globber.ts";
import type { FileEntry } from "../workspace-filesystem.ts";
import type { SkillSource } from "./skill-source.ts";

export const SKILL_FILE = "SKILL.md";
const GLOB = /[*?[\]{}]/;
const GLOB_LEVELS = 4;
const MOST_SKILLS = 1000;

/**
 * The directories of skills that paths name: one skill, a `SKILL.md`, a directory of skills, or a glob for any of them. A
 * directory with several names counts once.
 */
export async function findSkills(source: SkillSource, paths: readonly string[]): Promise<string[]> {
  const found = new Map<string, string>();
  const add = async (directory: string): Promise<void> => {
    const real = await identityOf(source, directory);
    if (!found.has(real) && found.size < MOST_SKILLS) found.set(real, directory);
  };
  for (const given of paths) {
    const path = normalize(given);
    for (const place of GLOB.test(path) ? await expand(source, path) : [path]) {
      if (place === SKILL_FILE || place.endsWith(`/${SKILL_FILE}`)) await add(parentOf(place));
      else if (await isSkill(source, place)) await add(place);
      else
        for (const child of await directoriesIn(source, place))
          if (await isSkill(source, child)) await add(child);
    }
  }
  return [...found.values()];
}

/** The entries that a glob matches, at most four levels below its fixed part. */
async function expand(source: SkillSource, glob: string): Promise<string[]> {
  const names = glob.split("/");
  const fixed = names.slice(
    0,
    names.findIndex((name) => GLOB.test(name)),
  );
  const matches = await globber(glob.includes("/") ? glob : `./${glob}`, true);
  const found: string[] = [];
  const visit = async (directory: string, level: number): Promise<void> => {
    for (const { name, type } of await entriesOf(source, directory)) {
      const path = join(directory, name);
      if (name === ".git" || (name === "node_modules" && !glob.includes("node_modules"))) continue;
      if (matches(path) && (type !== "file" || name === SKILL_FILE)) found.push(path);
      // Links are matched and not entered: they could lead in circles.
      if (type === "directory" && level < GLOB_LEVELS) await visit(path, level + 1);
    }
  };
  await visit(fixed.join("/"), 1);
  return found;
}

async function directoriesIn(source: SkillSource, directory: string): Promise<string[]> {
  return (await entriesOf(source, directory))
    .filter(({ type }) => type !== "file")
    .map(({ name }) => join(directory, name));
}

async function isSkill(source: SkillSource, directory: string): Promise<boolean> {
  try {
    return (await source.stat(join(directory, SKILL_FILE))).type === "file";
  } catch (error) {
    // One that may not be read is reported when it is parsed.
    return AgentError.is(error, "forbidden");
  }
}

async function entriesOf(source: SkillSource, directory: string): Promise<FileEntry[]> {
  try {
    return await source.readdir(directory || ".");
  } catch {
    return [];
  }
}

async function identityOf(source: SkillSource, directory: string): Promise<string> {
  try {
    return (await source.realpath?.(directory || ".")) ?? directory;
  } catch {
    return directory;
  }
}

function parentOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
}

export function join(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}
