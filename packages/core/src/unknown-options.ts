import { editDistance } from "./edit-distance.ts";
import type { Logger } from "./logger.ts";

/** The names that options have, as the keys of an object, so that the compiler can compare them with the type. */
export type OptionNames<Options> = Readonly<Record<keyof Options, true>>;

/**
 * Warns about options that nothing reads, with the name that was probably meant. For constructors and other calls that
 * happen once: it looks at every name.
 */
export function warnUnknownOptions(
  place: string,
  options: object | undefined,
  known: Readonly<Record<string, unknown>>,
  logger: Pick<Logger, "warn">,
): void {
  for (const name of Object.keys(options ?? {}))
    if (!Object.hasOwn(known, name)) logger.warn(unknownOption(place, name, known));
}

/** The warning about one option. */
export function unknownOption(place: string, name: string, known: Readonly<Record<string, unknown>>): string {
  const near = similarNames(name, Object.keys(known))[0];
  return `${place} has no option "${name}", so it is ignored.${near ? ` Did you mean "${near}"?` : ""}`;
}

/** Names that differ by upper case, or by at most two letters (one for short names), nearest first. */
function similarNames(name: string, names: readonly string[]): string[] {
  const most = name.length < 6 ? 1 : 2;
  return names
    .map((other) => ({ other, far: editDistance(name.toLowerCase(), other.toLowerCase()) }))
    .filter(({ far }) => far <= most)
    .toSorted((a, b) => a.far - b.far)
    .map(({ other }) => other);
}
