import { AgentError } from "../../errors.ts";
import { realSystem } from "../../system.ts";
import { fileRules } from "../file-rules.ts";
import { normalize } from "../find-entries.ts";
import { turns } from "../scan/turns.ts";
import { SearchIndex } from "../search/search-index.ts";
import { passageIn } from "../search/to-passages.ts";
import { toText } from "../text-file.ts";
import { FileNotFoundError, PermissionError } from "../workspace-errors.ts";
import type { FileSkills } from "./file-skills.ts";
import { join, SKILL_FILE } from "./find-skills.ts";
import { type InlineSkill, type Skill, SKILL_ORIGINS, type SkillMetadata } from "./skill.ts";

export type SkillFolder = "references" | "scripts" | "assets";

export interface SkillSearchOptions {
  /** Default: 5. */
  topK?: number;
  skillNames?: string[];
}

export interface SkillSearchResult {
  skillName: string;
  /** The file in the skill's directory. */
  source: string;
  content: string;
  score: number;
  lineRange: { start: number; end: number };
}

const MOST_FILES = 1000;
const LEVELS = 4;
const SEARCHED_FILES = 5000;

/** The skills of a workspace and of an agent. Names are looked up in this order: agent, local, managed, external. */
export class WorkspaceSkills {
  readonly #inline: readonly InlineSkill[];
  readonly #files: FileSkills | undefined;

  constructor(files: FileSkills | undefined, inline: readonly InlineSkill[] = []) {
    this.#files = files;
    this.#inline = inline;
  }

  /** All skills that a name or a path reaches, sorted by name. */
  async list(): Promise<SkillMetadata[]> {
    const all = await this.#all();
    const firstOf = new Map<string, number>();
    for (const { name, source } of all) {
      const rank = SKILL_ORIGINS.indexOf(source);
      firstOf.set(name, Math.min(rank, firstOf.get(name) ?? rank));
    }
    return all
      .filter(({ name, source }) => SKILL_ORIGINS.indexOf(source) === firstOf.get(name))
      .map(({ instructions: _, references: __, ...metadata }: Skill & { references?: unknown }) => metadata)
      .sort((a, b) => compare(a.name, b.name) || compare(a.path, b.path));
  }

  /** By name or path; `null` if there is none. Throws if two skills of one origin have the name. */
  async get(nameOrPath: string): Promise<Skill | null> {
    const all = await this.#all();
    const path = nameOrPath.replace(/^\.?\//, "").replace(/\/?(?:SKILL\.md)?$/, "");
    const named = all.filter(({ name }) => name === nameOrPath);
    for (const origin of SKILL_ORIGINS) {
      const [skill, ...others] = named.filter(({ source }) => source === origin);
      if (others.length > 0) {
        throw new AgentError(
          "ambiguous",
          `Several skills have the name ${JSON.stringify(nameOrPath)}. Use a path: ${[skill!, ...others].map((one) => one.path).join(", ")}.`,
        );
      }
      if (skill) return skill;
    }
    return all.find((skill) => skill.path === path) ?? null;
  }

  async has(nameOrPath: string): Promise<boolean> {
    return (await this.get(nameOrPath)) !== null;
  }

  /** Looks for new, changed and deleted skills now. */
  async refresh(): Promise<void> {
    await this.#files?.refresh();
  }

  /** Refreshes if the last refresh was at least 30 seconds ago. Every method calls it. */
  async maybeRefresh(): Promise<void> {
    await this.#files?.all();
  }

  listReferences(skillName: string): Promise<string[]> {
    return this.#listFolder(skillName, "references");
  }

  listScripts(skillName: string): Promise<string[]> {
    return this.#listFolder(skillName, "scripts");
  }

  listAssets(skillName: string): Promise<string[]> {
    return this.#listFolder(skillName, "assets");
  }

  /** The text of a file in `references/`; `null` if there is none. */
  getReference(skillName: string, path: string): Promise<string | null> {
    return this.#textIn(skillName, "references", path);
  }

  getScript(skillName: string, path: string): Promise<string | null> {
    return this.#textIn(skillName, "scripts", path);
  }

  async getAsset(skillName: string, path: string): Promise<Buffer | null> {
    const found = await this.#bytesIn(skillName, "assets", path);
    return found === null ? null : Buffer.from(found);
  }

  /** A text of a skill, by its path in the skill's directory. */
  async read(skillName: string, path: string): Promise<string> {
    return this.#textOf(await this.#require(skillName), path);
  }

  /** Passages of skills and their references, best first. */
  async search(query: string, options: SkillSearchOptions = {}): Promise<SkillSearchResult[]> {
    const { topK = 5, skillNames } = options;
    const index = new SearchIndex({ bm25: { k1: 1.5, b: 0.75 } });
    const texts = new Map<string, { skillName: string; source: string; text: string }>();
    const shown = new Set((await this.list()).map(({ path }) => path));
    for (const skill of await this.#all()) {
      if (!shown.has(skill.path) || (skillNames && !skillNames.includes(skill.name))) continue;
      for (const source of [SKILL_FILE, ...(await this.#pathsIn(skill, "references"))]) {
        if (texts.size >= SEARCHED_FILES) break;
        const text = await this.#textOf(skill, source).catch(() => undefined);
        if (text !== undefined) texts.set(join(skill.path, source), { skillName: skill.name, source, text });
      }
    }
    await index.put(
      [...texts].map(([path, { text }]) => ({ path, content: text })),
      turns(this.#files?.system ?? realSystem),
    );
    return (await index.search(query, { topK })).map(({ path, score, ...place }) => {
      const { skillName, source, text } = texts.get(path)!;
      const lineRange = { start: place.start, end: place.end };
      return { skillName, source, content: passageIn(text, place), score, lineRange };
    });
  }

  async #all(): Promise<(Skill | InlineSkill)[]> {
    return [...this.#inline, ...((await this.#files?.all()) ?? [])];
  }

  async #require(nameOrPath: string): Promise<Skill | InlineSkill> {
    const found = await this.get(nameOrPath);
    if (found) return found;
    const names = (await this.list()).map(({ name }) => name).slice(0, 20);
    throw new AgentError(
      "not-found",
      `There is no skill ${JSON.stringify(nameOrPath)}. The skills are: ${names.join(", ") || "none"}.`,
    );
  }

  async #textOf(skill: Skill | InlineSkill, path: string): Promise<string> {
    const file = toText(Buffer.from(await this.#readIn(skill, path)));
    if (typeof file === "string") throw new AgentError("invalid-argument", `${path} is ${file}.`);
    return file.text;
  }

  async #listFolder(skillName: string, folder: SkillFolder): Promise<string[]> {
    const paths = await this.#pathsIn(await this.#require(skillName), folder);
    return paths.map((path) => path.slice(folder.length + 1));
  }

  /** The files in a folder of a skill, by their paths in the skill's directory. */
  async #pathsIn(skill: Skill | InlineSkill, folder: SkillFolder): Promise<string[]> {
    if ("references" in skill)
      return folder === "references" ? Object.keys(skill.references).map((path) => `references/${path}`) : [];
    const found: string[] = [];
    const visit = async (directory: string, level: number): Promise<void> => {
      const entries = await this.#files!.source.readdir(join(skill.path, directory)).catch(() => []);
      for (const { name, type } of entries) {
        if (found.length >= MOST_FILES) return;
        if (type === "file") found.push(join(directory, name));
        else if (type === "directory" && level < LEVELS) await visit(join(directory, name), level + 1);
      }
    };
    await visit(folder, 1);
    return found.sort(compare);
  }

  async #textIn(skillName: string, folder: SkillFolder, path: string): Promise<string | null> {
    const found = await this.#bytesIn(skillName, folder, path);
    return found === null ? null : found.toString();
  }

  async #bytesIn(skillName: string, folder: SkillFolder, path: string): Promise<string | Buffer | null> {
    const skill = await this.#require(skillName);
    const inside = normalize(path.startsWith(`${folder}/`) ? path : `${folder}/${path}`);
    if (!inside.startsWith(`${folder}/`)) return null;
    try {
      return await this.#readIn(skill, inside);
    } catch (error) {
      if (AgentError.is(error, "not-found")) return null;
      throw error;
    }
  }

  /** Reads a file of a skill. Links must not lead out of the skill, and secrets are not read. */
  async #readIn(skill: Skill | InlineSkill, path: string): Promise<string | Buffer> {
    const inside = normalize(path);
    if (inside === SKILL_FILE && "references" in skill) return skill.instructions;
    if ("references" in skill) {
      const text = skill.references[inside.replace(/^references\//, "")];
      if (text === undefined) throw new FileNotFoundError(path);
      return text;
    }
    if (inside !== SKILL_FILE && !/^(?:references|scripts|assets)\//.test(inside)) {
      throw new PermissionError(
        path,
        "only SKILL.md and files in references/, scripts/ and assets/ belong to a skill.",
      );
    }
    const { source } = this.#files!;
    const { isSensitive } = await fileRules(source);
    const file = join(skill.path, inside);
    if (isSensitive(file)) throw new PermissionError(path, "secrets are not read as part of a skill.");
    if (source.realpath && inside !== SKILL_FILE) {
      const [root, real] = [await source.realpath(skill.path), await source.realpath(file)];
      if (!real.startsWith(`${root}/`) || isSensitive(real))
        throw new PermissionError(path, "a link in the path leads out of the skill.");
    }
    return source.readFile(file);
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
