import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readCatalog } from "../doctor/catalog.ts";
import { remedyFor, remedyForModule } from "../doctor/differences.ts";
import { counterpartOf } from "../doctor/examine-imports.ts";
import { findImports } from "../source/find-imports.ts";

const PACKAGE = /^Cannot find package '([^']+)' imported from (.+)$/;
const SUBPATH = /^Package subpath '\.\/([^']+)' is not defined by "exports" in (.+) imported from (.+)$/;
const NAME = /^The requested module '([^']+)' does not provide an export named '([^']+)'/;
const NAME_PLACE = /^(file:\/\/\S+):(\d+)\n/;

/**
 * One sentence for a project that imports what Selvedge does not have: where, what, and what to do. `undefined` for every
 * other error, which has its stack.
 */
export async function explainLoadError(error: unknown): Promise<string | undefined> {
  const { message = "", stack = "" } = Object(error) as Partial<Error>;
  const [, name, importer] = PACKAGE.exec(message) ?? [];
  if (name !== undefined && importer !== undefined) {
    const module = importOf(importer, (imported) => imported === name || imported.startsWith(`${name}/`));
    return module && sentence(importer, module.line, await aboutPackage(name));
  }
  const [, subpath, , from] = SUBPATH.exec(message) ?? [];
  if (subpath !== undefined && from !== undefined) {
    const module = importOf(from, (imported) => imported.endsWith(`/${subpath}`));
    return (
      module &&
      sentence(from, module.line, `${module.module} does not exist. ${remedyForModule(module.module)}`)
    );
  }
  const [, module, missing] = NAME.exec(message) ?? [];
  const [, url, line] = NAME_PLACE.exec(stack) ?? [];
  if (module === undefined || url === undefined || !counterpartOf(module)) return undefined;
  const about = `${module} exports no value ${missing}.`;
  return sentence(fileURLToPath(url), Number(line), about);
}

async function aboutPackage(name: string): Promise<string> {
  const target = counterpartOf(name)!.package;
  const found = (await readCatalog(() => false))[target];
  if (!found) return `${name} has no counterpart. ${remedyFor(name)}`;
  const alias = name === target ? `^${found.version}` : `npm:${target}@^${found.version}`;
  return `${name} is not installed. Write "${name}": "${alias}" into package.json, and run npm install.`;
}

function sentence(file: string, line: number, about: string): string {
  return `${file}:${line}: ${about} \`selvedge doctor\` lists everything that is missing.`;
}

/** The first import of ours in a file that matches. */
function importOf(
  file: string,
  matches: (module: string) => boolean,
): { module: string; line: number } | undefined {
  try {
    const imports = findImports(readFileSync(file, "utf8"));
    return imports.find(({ module, typeOnly }) => !typeOnly && counterpartOf(module) && matches(module));
  } catch {
    return undefined;
  }
}
