import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentError } from "@selvedge/core/errors";
import type { ProjectManifest } from "../doctor/read-project.ts";
import { findDocuments } from "../find-documents.ts";
import { collectModules, outputPath } from "./collect-modules.ts";
import { neededPackages } from "./needed-packages.ts";
import { stripTypes } from "./strip-types.ts";

interface Manifest extends ProjectManifest {
  name?: string;
  version?: string;
  type?: string;
  main?: string;
  /** In a folder that `selvedge build` wrote: its files, which the next build replaces. */
  selvedge?: { files?: string[] };
}

const SERVE_HOST = fileURLToPath(
  new URL(import.meta.url.endsWith(".ts") ? "./serve-host.ts" : "./serve-host.js", import.meta.url),
);
/** Files with these endings are loaded, not read, so they are only copied if something imports them. */
const CODE = /\.(?:[cm]?[jt]sx?|vue|svelte)$/;

/**
 * Writes a folder that serves a project with plain Node: the modules that the entry loads, without types; the documents beside
 * them; a package.json; start.mjs.
 */
export async function buildProject(
  folder: string,
  entry: string,
  outputFolder: string,
): Promise<{ output: string; files: number; dependencies: Record<string, string> }> {
  const output = resolve(folder, outputFolder);
  const manifest = readManifest(folder);
  if (!manifest) throw new AgentError("not-found", `There is no package.json in ${folder}.`);
  const modules = collectModules(folder, entry);
  const dependencies = await neededPackages(folder, output, manifest, modules);
  await removeBuild(output, folder, entry);
  const main = outputPath(folder, entry);
  const files = new Map<string, string | Buffer>(modules.code);
  const beside = dirname(entry);
  for (const path of (await findDocuments(beside)).paths)
    if (!CODE.test(path))
      files.set(outputPath(folder, join(beside, path)), await readFile(join(beside, path)));
  files.set("serve-host.mjs", await serveHostCode());
  files.set("start.mjs", startFile(main));
  const { name = "project", version = "0.0.0", type, engines = { node: ">=22.13" } } = manifest;
  const scripts = { start: "node start.mjs" };
  const selvedge = { files: [...files.keys()] };
  const built = { name, version, private: true, type, engines, main, scripts, dependencies, selvedge };
  files.set("package.json", `${JSON.stringify(built, null, 2)}\n`);
  for (const [path, content] of files) {
    await mkdir(dirname(join(output, path)), { recursive: true });
    await writeFile(join(output, path), content);
  }
  return { output, files: files.size, dependencies };
}

/** The module that exports `mastra` in a folder that `selvedge build` wrote. */
export function builtEntry(folder: string): string | undefined {
  const { main, selvedge } = readManifest(folder) ?? {};
  return selvedge?.files && main !== undefined ? join(folder, main) : undefined;
}

function startFile(main: string): string {
  return `import { existsSync } from "node:fs";
import { serveHost } from "./serve-host.mjs";

if (existsSync(".env")) process.loadEnvFile(".env");
const project = await import("./${main}");
await serveHost(project.mastra ?? project.default);
`;
}

async function serveHostCode(): Promise<string> {
  const source = await readFile(SERVE_HOST, "utf8");
  const code = SERVE_HOST.endsWith(".ts") ? stripTypes(source, SERVE_HOST) : source;
  return code.replace(/^\/\/# sourceMappingURL.*$/m, "");
}

/** Removes the files of an earlier build, and nothing else: what was installed or stored there stays. */
async function removeBuild(output: string, folder: string, entry: string): Promise<void> {
  if (contains(output, folder) || contains(dirname(entry), output))
    throw new AgentError(
      "invalid-argument",
      `${output} contains the project's sources, or is among them. Choose another --output.`,
    );
  const { files } = readManifest(output)?.selvedge ?? {};
  if (!files && (await readdir(output).catch(() => [])).length > 0)
    throw new AgentError(
      "conflict",
      `${output} is not empty, and not from an earlier build. Choose another --output, or empty it.`,
    );
  for (const path of files ?? [])
    if (contains(output, join(output, path))) await rm(join(output, path), { force: true });
}

function contains(outer: string, inner: string): boolean {
  const path = relative(outer, inner);
  return path !== ".." && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}

function readManifest(folder: string): Manifest | undefined {
  const file = join(folder, "package.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as Manifest) : undefined;
}
