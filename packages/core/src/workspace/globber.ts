import { normalize } from "./find-entries.ts";

/** A test of paths relative to the root, or absolute in an allowed path. */
export async function globber(
  patterns: string | readonly string[],
  includeHidden: boolean,
): Promise<(path: string) => boolean> {
  const { default: picomatch } = await import("picomatch");
  // A pattern without a slash is about names, at any depth.
  const globs = [patterns].flat().map((one) => (one.includes("/") ? normalize(one) : `**/${one}`));
  const test = picomatch(globs, { dot: includeHidden });
  return (path) => test(path.startsWith("/") ? path.slice(1) : path);
}
