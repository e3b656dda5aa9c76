import { relative, resolve } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { readCatalog } from "../doctor/catalog.ts";
import { counterpartOf } from "../doctor/examine-imports.ts";
import type { ProjectManifest } from "../doctor/read-project.ts";
import type { CollectedModules } from "./collect-modules.ts";

const SERVER = "@selvedge/server";

/**
 * The packages that a built folder installs: those its code imports or names in a string, those that Selvedge loads by
 * itself if they are there (model providers and other peers), and the server.
 */
export async function neededPackages(
  folder: string,
  output: string,
  manifest: ProjectManifest,
  { code, packages }: CollectedModules,
): Promise<Record<string, string>> {
  const catalog = await readCatalog(() => false);
  const used = ["@selvedge/core", ...[...packages.keys()].map((name) => counterpartOf(name)?.package ?? "")];
  const peers = new Set(used.flatMap((name) => Object.keys(catalog[name]?.peers ?? {})));
  const installed = { ...manifest.optionalDependencies, ...manifest.dependencies };
  const declared = { ...manifest.peerDependencies, ...manifest.devDependencies, ...installed };
  const undeclared = [...packages].find(([name]) => declared[name] === undefined);
  if (undeclared) {
    const [name, { file, line }] = undeclared;
    throw new AgentError(
      "invalid-argument",
      `${file}:${line} imports "${name}", which is not in package.json. Add it to the dependencies.`,
    );
  }
  const text = [...code.values()].join("\n");
  const isNamed = (name: string): boolean => text.includes(`"${name}"`) || text.includes(`'${name}'`);
  const needed = Object.keys(declared).filter(
    (name) => packages.has(name) || (name in installed && (peers.has(name) || isNamed(name))),
  );
  const versions: Record<string, string> = { [SERVER]: catalog[SERVER]!.version, ...declared };
  return Object.fromEntries([...needed, SERVER].sort().map((name) => [name, moved(versions[name]!)]));

  /** A path in a dependency is relative to its package.json. */
  function moved(spec: string): string {
    return spec.startsWith("file:") ? `file:${relative(output, resolve(folder, spec.slice(5)))}` : spec;
  }
}
