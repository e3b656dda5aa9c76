import { readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { findDocuments } from "../find-documents.ts";

export interface SourceFile {
  /** Relative to the project, with forward slashes. */
  path: string;
  text: string;
}

export interface ProjectManifest {
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  scripts?: Record<string, string>;
  engines?: { node?: string };
}

export interface Project {
  folder: string;
  sources: SourceFile[];
  /** The package.json of the project and, in a workspace, those below it. */
  manifests: (SourceFile & { json: ProjectManifest })[];
  /** Set if the project has more files than are read. */
  truncated: boolean;
}

const MAX_FILES = 5000;
const CODE = new Set([".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"]);

/** Reads a project's source files and package.json. Nothing is executed. */
export async function readProject(folder: string): Promise<Project> {
  if ((await readFile(join(folder, "package.json"), "utf8").catch(() => undefined)) === undefined)
    throw new AgentError("not-found", `There is no package.json in ${folder}. Name the folder of a project.`);
  const { paths } = await findDocuments(folder, { limit: MAX_FILES });
  const project: Project = { folder, sources: [], manifests: [], truncated: paths.length >= MAX_FILES };
  for (const path of paths) {
    const isManifest = path === "package.json" || path.endsWith("/package.json");
    if (!isManifest && !CODE.has(extname(path))) continue;
    const text = await readFile(join(folder, path), "utf8").catch(() => undefined);
    if (text === undefined) continue;
    if (isManifest) project.manifests.push({ path, text, json: parseManifest(join(folder, path), text) });
    else project.sources.push({ path, text });
  }
  return project;
}

/** The package.json of an installed package, from the nearest node_modules above a folder. */
export async function installedManifest(
  folder: string,
  name: string,
): Promise<{ name: string; version: string } | undefined> {
  for (let at = folder; ; at = dirname(at)) {
    const text = await readFile(join(at, "node_modules", name, "package.json"), "utf8").catch(
      () => undefined,
    );
    if (text !== undefined) return JSON.parse(text) as { name: string; version: string };
    if (dirname(at) === at) return undefined;
  }
}

function parseManifest(file: string, text: string): ProjectManifest {
  try {
    return (JSON.parse(text) as ProjectManifest | null) ?? {};
  } catch (error) {
    throw new AgentError("invalid-argument", `${file} is not valid JSON: ${(error as Error).message}`);
  }
}
