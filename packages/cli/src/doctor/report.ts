/** Something about a project that is not as it was elsewhere. */
export interface Finding {
  file: string;
  line: number;
  what: string;
  remedy: string;
}

/** What the doctor found. */
export class Report {
  /** Modules, each with the names and files that use them. */
  readonly #works = new Map<string, { names: Set<string>; files: Set<string> }>();
  readonly #differs: Finding[] = [];
  readonly #missing: Finding[] = [];

  works(module: string, names: readonly string[], file: string): void {
    const entry = this.#works.get(module) ?? { names: new Set(), files: new Set() };
    for (const name of names) entry.names.add(name);
    entry.files.add(file);
    this.#works.set(module, entry);
  }

  differs(finding: Finding): void {
    this.#differs.push(finding);
  }

  missing(finding: Finding): void {
    this.#missing.push(finding);
  }

  toJSON(): {
    works: { module: string; names: string[]; files: number }[];
    differs: Finding[];
    missing: Finding[];
  } {
    const works = [...this.#works].sort(([a], [b]) => (a < b ? -1 : 1));
    return {
      works: works.map(([module, { names, files }]) => ({
        module,
        names: [...names].sort(),
        files: files.size,
      })),
      differs: this.#differs.toSorted(byPlace),
      missing: this.#missing.toSorted(byPlace),
    };
  }
}

function byPlace(a: Finding, b: Finding): number {
  return a.file === b.file ? a.line - b.line : a.file < b.file ? -1 : 1;
}
