import { findImports } from "../source/find-imports.ts";
import type { Catalog } from "./catalog.ts";
import { NAMES_WITHOUT_EFFECT, remedyFor, remedyForModule } from "./differences.ts";
import type { SourceFile } from "./read-project.ts";
import type { Report } from "./report.ts";

const OURS = /^@(?:mastra|selvedge)\//;

/** `@mastra/core/agent` is the module `./agent` of `@selvedge/core`. `undefined` for modules of others. */
export function counterpartOf(module: string): { package: string; subpath: string } | undefined {
  if (!OURS.test(module)) return undefined;
  const [, name, ...rest] = module.split("/");
  return { package: `@selvedge/${name}`, subpath: [".", ...rest].join("/") };
}

/** `@mastra/core` of `@mastra/core/agent`. */
export function packageOf(module: string): string {
  return module.split("/", 2).join("/");
}

/** The modules of Mastra and Selvedge that the sources import, as written. */
export function importedModules(sources: readonly SourceFile[]): Set<string> {
  const modules = sources.flatMap(({ text }) => findImports(text).map(({ module }) => module));
  return new Set(modules.filter((module) => OURS.test(module)));
}

/** Compares what the sources import with what exists. */
export function examineImports(sources: readonly SourceFile[], catalog: Catalog, report: Report): void {
  for (const { path: file, text } of sources) {
    for (const { module, line, names, typeOnly } of findImports(text)) {
      const counterpart = counterpartOf(module);
      if (!counterpart) continue;
      const owner = catalog[counterpart.package];
      if (!owner) {
        report.missing({ file, line, what: `${module} has no counterpart`, remedy: remedyFor(module) });
        continue;
      }
      if (!(counterpart.subpath in owner.modules)) {
        const elsewhere = names.map(({ name }) => whereIs(name)).filter((place) => place !== "");
        const remedy = elsewhere.join(" ") || remedyForModule(module);
        report.missing({ file, line, what: `${module} does not exist`, remedy });
        continue;
      }
      report.works(
        module,
        typeOnly ? [] : examineNames(module, names, owner.modules[counterpart.subpath]),
        file,
      );
    }

    function examineNames(
      module: string,
      names: readonly { name: string; line: number }[],
      known: readonly string[] | undefined,
    ): string[] {
      const [idle, remedy] = NAMES_WITHOUT_EFFECT[module.replace(OURS, "@selvedge/")] ?? [[], ""];
      return names
        .filter(({ name, line }) => {
          if (known && !known.includes(name)) {
            const what = `${module} exports no value ${name}`;
            report.missing({
              file,
              line,
              what,
              remedy: `If it is a type, write \`import type\`. ${whereIs(name)}`.trim(),
            });
            return false;
          }
          if (idle.includes(name)) report.differs({ file, line, what: name, remedy });
          return !idle.includes(name);
        })
        .map(({ name }) => name);
    }
  }

  function whereIs(name: string): string {
    const places = Object.entries(catalog).flatMap(([owner, { modules }]) =>
      Object.entries(modules)
        .filter(([, names]) => names?.includes(name))
        .map(([subpath]) => owner + subpath.slice(1)),
    );
    return places.length > 0 ? `${name} is in ${places.join(" and ")}.` : "";
  }
}
