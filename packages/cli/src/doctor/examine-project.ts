import { readCatalog } from "./catalog.ts";
import { examineImports, importedModules, packageOf } from "./examine-imports.ts";
import { examineManifests } from "./examine-manifests.ts";
import { examineOptions } from "./examine-options.ts";
import { readProject } from "./read-project.ts";
import { Report } from "./report.ts";

/** Reads a project and compares it with what Selvedge has. Runs none of its code. */
export async function examineProject(
  folder: string,
): Promise<{ report: Report; files: number; truncated: boolean }> {
  const project = await readProject(folder);
  const used = new Set([...importedModules(project.sources)].map(packageOf));
  const owned = new Set([...used].map((name) => name.replace("@mastra/", "@selvedge/")));
  const catalog = await readCatalog((module) => owned.has(packageOf(module)));
  const report = new Report();
  examineImports(project.sources, catalog, report);
  examineOptions(project.sources, report);
  await examineManifests(project, used, catalog, report);
  return { report, files: project.sources.length, truncated: project.truncated };
}
