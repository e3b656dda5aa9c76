import { existsSync, statSync } from "node:fs";
import * as nodeModule from "node:module";
import { fileURLToPath } from "node:url";
import { stripTypes } from "../build/strip-types.ts";
import { type PathAliases, readPathAliases } from "../source/path-aliases.ts";
import { dropUnusedImports } from "../source/drop-unused-imports.ts";

const CANDIDATES = [".ts", ".mts", ".js", ".mjs", "/index.ts", "/index.js"];
const WRITTEN_FOR_OUTPUT = /\.([cm]?)js$/;

/**
 * Lets Node load a project the way people write one: `./agents/weather` means the file beside it, with whatever ending,
 * `./weather.js` may be written for `weather.ts`, and the `paths` of tsconfig.json apply. An import that only names types is
 * dropped. Tells every file of the project that is loaded.
 */
export function registerProjectModules(noticeFile: (file: string) => void): void {
  const aliases = readPathAliases(process.cwd());
  // Absent before Node 22.15; imports then need their endings, and the error says so.
  nodeModule.registerHooks?.({
    resolve(specifier, context, nextResolve) {
      const resolved = resolveAsWritten(specifier, context.parentURL, aliases, (name) =>
        nextResolve(name, context),
      );
      if (isOfProject(resolved.url)) noticeFile(fileURLToPath(resolved.url));
      return resolved;
    },
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (loaded.format !== "module-typescript" || !isOfProject(url) || loaded.source == null) return loaded;
      try {
        const code = stripTypes(textOf(loaded.source), fileURLToPath(url));
        const source = dropUnusedImports(code);
        return source === code ? loaded : { ...loaded, format: "module", source };
      } catch {
        return loaded; // Node says what is wrong with it.
      }
    },
  });
}

function resolveAsWritten<Resolved>(
  specifier: string,
  parent: string | undefined,
  aliases: PathAliases,
  next: (specifier: string) => Resolved,
): Resolved {
  if (parent === undefined || !isOfProject(parent)) return next(specifier);
  return next(findModule(specifier, parent, aliases) ?? specifier);
}

/** The specifier of the project's file that is meant, or `undefined` if there is none. */
export function findModule(specifier: string, parent: string, aliases: PathAliases): string | undefined {
  const relative = specifier.startsWith("./") || specifier.startsWith("../");
  const candidates = (relative ? [specifier] : aliases(specifier)).flatMap((path) => [
    path,
    path.replace(WRITTEN_FOR_OUTPUT, ".$1ts"),
    ...CANDIDATES.map((ending) => path + ending),
  ]);
  return candidates.find((candidate) => isFile(new URL(candidate, parent)));
}

function textOf(source: string | NodeJS.ArrayBufferView | ArrayBuffer): string {
  return typeof source === "string" ? source : new TextDecoder().decode(source);
}

function isOfProject(url: string): boolean {
  return url.startsWith("file:") && !url.includes("/node_modules/");
}

function isFile(url: URL): boolean {
  const path = fileURLToPath(url);
  return existsSync(path) && statSync(path).isFile();
}
