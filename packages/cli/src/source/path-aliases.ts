import { existsSync, readFileSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { withoutComments } from "./mask-source.ts";

/** The files that an import may mean under the `paths` of tsconfig.json, as URLs without endings. */
export type PathAliases = (specifier: string) => string[];

interface TypeScriptConfig {
  extends?: string | string[];
  compilerOptions?: { baseUrl?: string; paths?: Record<string, string[]> };
}

const MOST_EXTENDED = 10;

/** Reads the aliases of a project. A file that cannot be read has none: TypeScript says what is wrong with it. */
export function readPathAliases(folder: string): PathAliases {
  const { paths, base } = pathsOf(resolve(folder, "tsconfig.json"), MOST_EXTENDED);
  const rules = Object.entries(paths).map(([pattern, targets]) => {
    const [start = "", end] = pattern.split("*", 2);
    return { start, end, targets: Array.isArray(targets) ? targets : [] };
  });
  return (specifier) => {
    if (specifier.startsWith(".") || specifier.startsWith("node:")) return [];
    return rules
      .filter(({ start, end }) =>
        end === undefined
          ? specifier === start
          : specifier.length >= start.length + end.length &&
            specifier.startsWith(start) &&
            specifier.endsWith(end),
      )
      .toSorted((a, b) => b.start.length - a.start.length)
      .flatMap(({ start, end, targets }) => {
        const rest = specifier.slice(start.length, specifier.length - (end?.length ?? 0));
        return targets.map(
          (target) =>
            pathToFileURL(
              resolve(
                base,
                target.replace("*", () => rest),
              ),
            ).href,
        );
      });
  };
}

function pathsOf(file: string, depth: number): { paths: Record<string, string[]>; base: string } {
  const none = { paths: {}, base: dirname(file) };
  if (depth === 0 || !existsSync(file)) return none;
  let config: TypeScriptConfig;
  try {
    const text = withoutComments(readFileSync(file, "utf8")).replaceAll(/,(?=\s*[}\]])/g, "");
    config = JSON.parse(text) as TypeScriptConfig;
  } catch {
    return none;
  }
  const { baseUrl, paths } = config.compilerOptions ?? {};
  if (paths) return { paths, base: resolve(dirname(file), baseUrl ?? ".") };
  for (const parent of [config.extends ?? []].flat().toReversed()) {
    if (!parent.startsWith(".")) continue;
    const inherited = pathsOf(resolve(dirname(file), parent.replace(/(\.json)?$/, ".json")), depth - 1);
    if (Object.keys(inherited.paths).length > 0) return inherited;
  }
  return none;
}
