import { stripTypes } from "../build/strip-types.ts";
import { dropUnusedImports } from "../source/drop-unused-imports.ts";
import { findImports, type FoundImport } from "../source/find-imports.ts";
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
    for (const found of findImports(text)) {
      const counterpart = counterpartOf(found.module);
      if (!counterpart) continue;
      const { module, line, names } = found;
      const modules = catalog[counterpart.package]?.modules;
      const known = modules?.[counterpart.subpath];
      if (!modules) {
        report.missing({ file, line, what: `${module} has no counterpart`, remedy: remedyFor(module) });
      } else if (known === undefined) {
        const remedy = names
          .map(({ name }) => whereIs(name, module, catalog))
          .join(" ")
          .trim();
        report.missing({
          file,
          line,
          what: `${module} does not exist`,
          remedy: remedy || remedyForModule(module),
        });
      } else {
        const isType = (name: string) => !usedValues(text, file).includes(name);
        report.works(module, examineNames(found, file, known, catalog, report, isType), file);
      }
    }
  }
}

/** Reports the names that are missing or do nothing. Returns the others. */
function examineNames(
  { module, names }: FoundImport,
  file: string,
  known: readonly string[] | null,
  catalog: Catalog,
  report: Report,
  isType: (name: string) => boolean,
): string[] {
  const [idle, remedyOfIdle] = NAMES_WITHOUT_EFFECT[module.replace(OURS, "@selvedge/")] ?? [[], ""];
  const working: string[] = [];
  for (const { name, line } of names) {
    if (known && !known.includes(name)) {
      if (isType(name)) continue;
      const remedy = whereIs(name, module, catalog) || "Remove it, or write your own.";
      report.missing({ file, line, what: `${module} exports no value ${name}`, remedy });
    } else if (idle.includes(name)) {
      report.differs({ file, line, what: name, remedy: remedyOfIdle });
    } else {
      working.push(name);
    }
  }
  return working;
}

/** The names that a source imports and uses as values. If it cannot be read, all that it imports. */
function usedValues(text: string, file: string): string[] {
  let code = text;
  try {
    code = dropUnusedImports(stripTypes(text, file));
  } catch {
    // TSX, or an error in the source.
  }
  return findImports(code).flatMap(({ names }) => names.map(({ name }) => name));
}

/** The modules that export a name, written as the project writes them. */
function whereIs(name: string, module: string, catalog: Catalog): string {
  const places = Object.entries(catalog).flatMap(([owner, { modules }]) =>
    Object.entries(modules)
      .filter(([, names]) => names?.includes(name))
      .map(([subpath]) => owner.replace("@selvedge", module.split("/", 1)[0]!) + subpath.slice(1)),
  );
  return places.length > 0 ? `${name} is in ${places.join(" and ")}.` : "";
}
