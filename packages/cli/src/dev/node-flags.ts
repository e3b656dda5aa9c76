import { existsSync } from "node:fs";
import { join } from "node:path";

/** `strip` leaves types out; `transform` also turns enums and parameter properties into JavaScript, and takes longer. */
export type TypeScriptMode = "strip" | "transform";

const TRANSFORM = "--experimental-transform-types";
const STRIP = "--experimental-strip-types";

/** What Node needs so that it runs a TypeScript project as it is written. */
export function nodeFlags(
  current: readonly string[],
  allowed: ReadonlySet<string>,
  mode: TypeScriptMode,
): string[] {
  const flags = [...current];
  const wanted = mode === "transform" ? [TRANSFORM, STRIP] : [STRIP];
  const typescript = wanted.find((flag) => allowed.has(flag));
  if (typescript) flags.push(typescript, "--disable-warning=ExperimentalWarning");
  return flags;
}

/** Node keeps what it compiled in the project, so that the next start takes a fraction of the time. */
export function compileCache(folder: string): { NODE_COMPILE_CACHE?: string } {
  const modules = join(folder, "node_modules");
  return existsSync(modules) ? { NODE_COMPILE_CACHE: join(modules, ".cache", "selvedge") } : {};
}
