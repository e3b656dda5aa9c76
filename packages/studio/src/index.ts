import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The folder with the studio's built files, or `undefined` in a clone where they were not built yet. */
export function studioFolder(): string | undefined {
  const folder = fileURLToPath(new URL("../site", import.meta.url));
  return existsSync(new URL("../site/index.html", import.meta.url)) ? folder : undefined;
}

export { highlight } from "./highlight.ts";
export type { Piece } from "./highlight.ts";
