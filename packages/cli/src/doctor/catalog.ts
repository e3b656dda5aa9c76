import { existsSync, readdirSync, readFileSync } from "node:fs";

/** A package of Selvedge: what it needs, and what its modules export. */
interface CatalogPackage {
  version: string;
  peers: Record<string, string>;
  optionalPeers: readonly string[];
  /** The exported names by subpath (`.`, `./agent`); `null` if they are not known. */
  modules: Record<string, readonly string[] | null>;
}

/** By name, such as `@selvedge/core`. */
export type Catalog = Readonly<Record<string, CatalogPackage>>;

interface Manifest {
  name: string;
  version: string;
  exports?: Record<string, unknown>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional?: boolean }>;
}

/** Written when the packages are built. Users of a published package have this file and not all packages. */
const BUILT = new URL("../catalog.json", import.meta.url);
const PACKAGES = new URL("../../../", import.meta.url);

/**
 * What exists: from the built file or, in a clone, from the packages themselves, which are loaded for the names of the
 * modules that `needsNames` selects.
 */
export async function readCatalog(needsNames: (module: string) => boolean): Promise<Catalog> {
  if (existsSync(BUILT)) return JSON.parse(readFileSync(BUILT, "utf8")) as Catalog;
  return deriveCatalog(needsNames);
}

async function deriveCatalog(needsNames: (module: string) => boolean): Promise<Catalog> {
  const catalog: Record<string, CatalogPackage> = {};
  for (const folder of readdirSync(PACKAGES)) {
    const file = new URL(`${folder}/package.json`, PACKAGES);
    if (!existsSync(file)) continue;
    const manifest = JSON.parse(readFileSync(file, "utf8")) as Manifest;
    if (!manifest.name.startsWith("@selvedge/")) continue;
    const modules: CatalogPackage["modules"] = {};
    for (const subpath of Object.keys(manifest.exports ?? {})) {
      const module = `${manifest.name}${subpath.slice(1)}`;
      modules[subpath] = needsNames(module) ? await exportsOf(module) : null;
    }
    catalog[manifest.name] = {
      version: manifest.version,
      peers: manifest.peerDependencies ?? {},
      optionalPeers: Object.entries(manifest.peerDependenciesMeta ?? {})
        .filter(([, { optional }]) => optional)
        .map(([name]) => name),
      modules,
    };
  }
  return catalog;
}

/** `null` for a module that needs its own surroundings, such as a test runner. */
async function exportsOf(module: string): Promise<readonly string[] | null> {
  try {
    return Object.keys((await import(module)) as object);
  } catch {
    return null;
  }
}
