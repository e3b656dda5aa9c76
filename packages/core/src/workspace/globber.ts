import { normalize } from "./find-entries.ts";

/** A test of paths relative to the root. */
export async function globber(
  patterns: string | readonly string[],
  includeHidden: boolean,
): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import("picomatch");
  // A pattern without a slash is about names, at any depth.
  const globs = [patterns].flat().map((one) => (one.includes("/") ? normalize(one) : `**/${one}`));
  return picomatch(globs, { dot: includeHidden });
}
