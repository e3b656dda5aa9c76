import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AgentError } from "@selvedge/core/errors";

const PLACES = ["src/mastra/index", "src/mastra", "mastra/index", "mastra", "src/index"];
const ENDINGS = [".ts", ".mts", ".js", ".mjs"];

/** The file that exports `mastra`: the one that was named, else the first of the usual places that has one. */
export function findEntry(folder: string, named: string | undefined): string | undefined {
  if (named !== undefined) {
    const file = resolve(folder, named);
    if (existsSync(file)) return file;
    throw new AgentError("not-found", `There is no file ${file}. Name the module that exports \`mastra\`.`);
  }
  return PLACES.flatMap((place) => ENDINGS.map((ending) => resolve(folder, `${place}${ending}`))).find(
    (file) => existsSync(file),
  );
}
