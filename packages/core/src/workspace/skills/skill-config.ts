import type { Logger } from "../../logger.ts";
import type { RequestContext } from "../../request-context/request-context.ts";
import type { System } from "../../system.ts";
import { LocalFilesystem } from "../local-filesystem.ts";
import { FileSkills } from "./file-skills.ts";
import type { InlineSkill } from "./skill.ts";
import type { SkillSource } from "./skill-source.ts";
import { WorkspaceSkills } from "./workspace-skills.ts";

type SkillPaths = readonly string[];

export interface WorkspaceSkillOptions {
  /** Paths and globs of skills, or a function that returns those of a request. */
  skills?: SkillPaths | ((context: { requestContext: RequestContext }) => SkillPaths | Promise<SkillPaths>);
  /** Where skills are read from, instead of the filesystem. */
  skillSource?: SkillSource;
  /** Has no effect: a changed `SKILL.md` is always read again. */
  checkSkillFileMtime?: boolean;
}

/** How many sets of paths are kept per source. */
const MOST_SETS = 100;

/** The skills of a workspace: one set for each filesystem and list of paths. */
export class SkillConfig {
  readonly #options: WorkspaceSkillOptions;
  readonly #system: System;
  readonly #logger: Logger;
  readonly #sets = new WeakMap<object, Map<string, FileSkills>>();
  #currentDirectory: SkillSource | undefined;

  constructor(options: WorkspaceSkillOptions, system: System, logger: Logger) {
    this.#options = options;
    this.#system = system;
    this.#logger = logger;
  }

  /** The skills of a source; `undefined` if there are none, or if a function chooses them. */
  of(files: SkillSource | undefined): WorkspaceSkills | undefined {
    const { skills } = this.#options;
    return skills && typeof skills !== "function"
      ? new WorkspaceSkills(this.#open(files, skills))
      : undefined;
  }

  async resolve(
    files: SkillSource | undefined,
    requestContext: RequestContext,
    inline: readonly InlineSkill[] = [],
  ): Promise<WorkspaceSkills | undefined> {
    const { skills } = this.#options;
    const paths = typeof skills === "function" ? await skills({ requestContext }) : skills;
    if (!paths && inline.length === 0) return undefined;
    return new WorkspaceSkills(paths && this.#open(files, paths), inline);
  }

  #open(files: SkillSource | undefined, paths: SkillPaths): FileSkills {
    const source = this.#options.skillSource ?? files ?? this.#local();
    let sets = this.#sets.get(source);
    if (!sets) this.#sets.set(source, (sets = new Map()));
    const key = JSON.stringify(paths);
    let found = sets.get(key);
    if (!found) {
      if (sets.size >= MOST_SETS) sets.clear();
      sets.set(key, (found = new FileSkills(source, paths, this.#system, this.#logger)));
    }
    return found;
  }

  /** Without a filesystem, skills are read below the current directory. */
  #local(): SkillSource {
    this.#currentDirectory ??= new LocalFilesystem({ basePath: ".", readOnly: true, system: this.#system });
    return this.#currentDirectory;
  }
}
