import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, extname, relative, sep } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { AgentError } from "@selvedge/core/errors";
import { findModule } from "../dev/project-modules.ts";
import { findImports } from "../source/find-imports.ts";
import { readPathAliases } from "../source/path-aliases.ts";
import { dropUnusedImports } from "../source/drop-unused-imports.ts";
import { stripTypes } from "./strip-types.ts";

export interface CollectedModules {
  /** The code of each file by its path in the output. */
  code: Map<string, string>;
  /** Where each package is first imported. */
  packages: Map<string, { file: string; line: number }>;
}

const TYPESCRIPT = /\.([cm]?)ts$/;
const CODE = new Set([".ts", ".mts", ".cts", ".js", ".mjs", ".cjs"]);

/** The path in the output of a project's file: the same, with the ending of JavaScript. */
export function outputPath(folder: string, file: string): string {
  const path = relative(folder, file).split(sep).join("/");
  if (path.startsWith("../"))
    throw new AgentError(
      "invalid-argument",
      `${file} is outside the project ${folder}. Build from a folder that contains it.`,
    );
  return path.replace(TYPESCRIPT, ".$1js");
}

/** The modules that an entry loads, without types, and with the paths of their imports as plain Node needs them. */
export function collectModules(folder: string, entry: string): CollectedModules {
  const collected: CollectedModules = { code: new Map(), packages: new Map() };
  const aliases = readPathAliases(folder);
  const from = new Map<string, string>();
  const visit = (file: string): string => {
    const path = outputPath(folder, file);
    const other = from.get(path);
    if (other === file) return path;
    if (other !== undefined)
      throw new AgentError("conflict", `${other} and ${file} would both become ${path}. Rename one of them.`);
    from.set(path, file);
    const source = readFileSync(file, "utf8");
    if (!CODE.has(extname(file))) {
      collected.code.set(path, source);
      return path;
    }
    const text = TYPESCRIPT.test(file) ? dropUnusedImports(stripTypes(source, file)) : source;
    let code = "";
    let end = 0;
    for (const { module, start, line } of findImports(text)) {
      const found = findModule(module, pathToFileURL(file).href, aliases);
      if (found === undefined && !module.startsWith(".")) {
        if (!isBuiltin(module) && !collected.packages.has(nameOf(module)))
          collected.packages.set(nameOf(module), { file, line });
        continue;
      }
      if (found === undefined)
        throw new AgentError(
          "not-found",
          `${file}:${line} imports ${JSON.stringify(module)}, which does not exist.`,
        );
      const target = visit(fileURLToPath(new URL(found, pathToFileURL(file))));
      const specifier = relative(dirname(path), target).split(sep).join("/");
      code += text.slice(end, start) + (specifier.startsWith(".") ? specifier : `./${specifier}`);
      end = start + module.length;
    }
    collected.code.set(path, code + text.slice(end));
    return path;
  };
  visit(entry);
  return collected;
}

/** `@ai-sdk/openai` of `@ai-sdk/openai/internal`. */
function nameOf(module: string): string {
  return module.split("/", module.startsWith("@") ? 2 : 1).join("/");
}
