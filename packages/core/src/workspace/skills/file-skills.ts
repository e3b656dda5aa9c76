import { AgentError, errorMessage } from "../../errors.ts";
import type { Logger } from "../../logger.ts";
import type { System } from "../../system.ts";
import { turns } from "../scan/turns.ts";
import { findSkills, join, SKILL_FILE } from "./find-skills.ts";
import { parseSkill } from "./parse-skill.ts";
import type { Skill, SkillOrigin } from "./skill.ts";
import type { SkillSource } from "./skill-source.ts";

const REFRESH_MS = 30_000;
const MAX_BYTES = 1024 * 1024;

interface KnownFile {
  /** Size and time of the `SKILL.md` that was read. */
  version: string;
  /** Absent if it is not valid. */
  skill?: Skill;
}

/** The skills in directories, read again when their files change. */
export class FileSkills {
  readonly source: SkillSource;
  readonly #paths: readonly string[];
  readonly system: System;
  readonly #logger: Logger;
  readonly #warned = new Map<string, string>();
  #known = new Map<string, KnownFile>();
  #foundAt = Number.NEGATIVE_INFINITY;
  #work: Promise<void> = Promise.resolve();

  constructor(source: SkillSource, paths: readonly string[], system: System, logger: Logger) {
    this.source = source;
    this.#paths = paths;
    this.system = system;
    this.#logger = logger;
  }

  /** Looks for new skills at most every 30 seconds, and for changes of the known ones each time. */
  async all(): Promise<Skill[]> {
    await this.#update(this.system.monotonic() - this.#foundAt >= REFRESH_MS);
    return [...this.#known.values()].flatMap(({ skill }) => skill ?? []);
  }

  async refresh(): Promise<void> {
    await this.#update(true);
  }

  #update(isSearch: boolean): Promise<void> {
    const done = this.#work.then(async () => {
      const directories = isSearch ? await findSkills(this.source, this.#paths) : [...this.#known.keys()];
      if (isSearch) this.#foundAt = this.system.monotonic();
      const pause = turns(this.system);
      const next = new Map<string, KnownFile>();
      for (const directory of directories) {
        const known = await this.#look(directory);
        if (known) next.set(directory, known);
        await pause();
      }
      this.#known = next;
    });
    this.#work = done.catch(() => {});
    return done;
  }

  async #look(directory: string): Promise<KnownFile | undefined> {
    const file = join(directory, SKILL_FILE);
    const known = this.#known.get(directory);
    let version = "";
    try {
      const { size, modifiedAt } = await this.source.stat(file);
      version = `${size} ${modifiedAt.getTime()}`;
      if (known?.version === version) return known;
      if (size > MAX_BYTES) {
        throw new AgentError(
          "limit-exceeded",
          `the file has more than ${MAX_BYTES.toLocaleString("en")} bytes.`,
        );
      }
      return { version, skill: await this.#parse(directory, file) };
    } catch (error) {
      if (AgentError.is(error, "not-found")) return undefined;
      this.#warn(file, errorMessage(error));
      return { version };
    }
  }

  async #parse(directory: string, file: string): Promise<Skill> {
    const bytes = await this.source.readFile(file);
    const skill = await parseSkill(bytes.toString());
    const folder = directory.split("/").pop()!;
    if (folder !== "" && skill.name !== folder) {
      throw new AgentError(
        "invalid-argument",
        `name must be that of the directory, ${JSON.stringify(folder)}, but is ${JSON.stringify(skill.name)}.`,
      );
    }
    return { ...skill, path: directory || ".", source: originOf(directory) };
  }

  /** Once for each problem of a file. */
  #warn(file: string, problem: string): void {
    if (this.#warned.get(file) === problem) return;
    this.#warned.set(file, problem);
    this.#logger.warn(`The skill ${file} is left out: ${problem}`);
  }
}

function originOf(directory: string): SkillOrigin {
  const path = `/${directory}/`;
  if (path.includes("/node_modules/")) return "external";
  return /\/\.(?:mastra|selvedge)\/skills\//.test(path) ? "managed" : "local";
}
