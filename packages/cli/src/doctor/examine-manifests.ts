import * as nodeModule from "node:module";
import { lineOf } from "../source/mask-source.ts";
import type { Catalog } from "./catalog.ts";
import { remedyFor } from "./differences.ts";
import { counterpartOf } from "./examine-imports.ts";
import { installedManifest, type Project, type ProjectManifest, type SourceFile } from "./read-project.ts";
import type { Report } from "./report.ts";

const NEEDED_NODE = "22.13";

/** Checks, for the packages that a project uses, aliases, versions of peers, scripts and Node. */
export async function examineManifests(
  project: Project,
  used: ReadonlySet<string>,
  catalog: Catalog,
  report: Report,
): Promise<void> {
  const declared = new Map<string, { spec: string; file: string; line: number }>();
  for (const manifest of project.manifests) {
    for (const [name, spec] of Object.entries(dependenciesOf(manifest.json)))
      declared.set(name, { spec, file: manifest.path, line: lineOfKey(manifest, name) });
    examineScripts(manifest, report);
    examineEngines(manifest, report);
  }
  for (const name of new Set([...used, ...declared.keys()])) {
    const own = catalog[counterpartOf(name)?.package ?? ""];
    const place = declared.get(name) ?? { file: "package.json", line: 1, spec: undefined };
    if (name === "mastra")
      report.missing({
        ...placeOf(place),
        what: "mastra is the command line of Mastra",
        remedy: "Replace it with selvedge.",
      });
    if (!counterpartOf(name)) continue;
    if (own) await examineAlias(project, name, own.version, place, report);
    // Imports say so with their own line.
    else if (!used.has(name))
      report.missing({ ...placeOf(place), what: `${name} has no counterpart`, remedy: remedyFor(name) });
  }
  await examinePeers(project, catalog, used, declared, report);
  if (nodeModule.registerHooks === undefined)
    report.missing({
      file: "package.json",
      line: 1,
      what: `Node ${process.versions.node} needs the endings of imported files`,
      remedy: "Use Node 22.15 or later, or write the endings.",
    });
}

async function examineAlias(
  { folder }: Project,
  name: string,
  version: string,
  place: { spec: string | undefined; file: string; line: number },
  report: Report,
): Promise<void> {
  const target = name.replace("@mastra/", "@selvedge/");
  const installed = await installedManifest(folder, name);
  if (place.spec?.includes("selvedge") || installed?.name === target) return;
  const ours = name === target;
  if (ours && place.spec !== undefined) return;
  const wanted = ours ? `"${name}": "^${version}"` : `"${name}": "npm:${target}@^${version}"`;
  const what =
    place.spec === undefined ? `${name} is not in package.json` : `${name} is not an alias for ${target}`;
  report.missing({ ...placeOf(place), what, remedy: `Write ${wanted}.` });
}

async function examinePeers(
  { folder }: Project,
  catalog: Catalog,
  used: ReadonlySet<string>,
  declared: ReadonlyMap<string, { spec: string; file: string; line: number }>,
  report: Report,
): Promise<void> {
  const owners = new Set([
    "@selvedge/core",
    "@selvedge/protocol",
    ...[...used].map((name) => counterpartOf(name)!.package),
  ]);
  for (const owner of owners) {
    const { peers = {}, optionalPeers = [] } = catalog[owner] ?? {};
    for (const [peer, range] of Object.entries(peers)) {
      const place = declared.get(peer);
      const version = (await installedManifest(folder, peer))?.version ?? place?.spec;
      if (place && version !== undefined && !allows(range, version))
        report.missing({
          ...placeOf(place),
          what: `${peer} ${version} does not work with ${owner}`,
          remedy: `Use ${peer} ${range}.`,
        });
      if (!place && version === undefined && !optionalPeers.includes(peer))
        report.missing({
          file: "package.json",
          line: 1,
          what: `${owner} needs ${peer}`,
          remedy: `Install ${peer} ${range}.`,
        });
    }
  }
}

function examineScripts(manifest: SourceFile & { json: ProjectManifest }, report: Report): void {
  for (const [name, script] of Object.entries(manifest.json.scripts ?? {})) {
    const command = /(?:^|[\s;&|])(mastra\s+(\w+))/.exec(script);
    if (!command) continue;
    const has = ["dev", "build", "start"].includes(command[2]!);
    const remedy = has
      ? `Write \`selvedge ${command[2]}\`.`
      : "There is no such command. `selvedge --help` lists them.";
    report.missing({
      file: manifest.path,
      line: lineOfKey(manifest, name),
      what: `the script "${name}" runs \`${command[1]}\``,
      remedy,
    });
  }
}

function examineEngines(manifest: SourceFile & { json: ProjectManifest }, report: Report): void {
  const range = manifest.json.engines?.node;
  const lowest = Number(/\d+/.exec(range ?? "")?.[0] ?? NaN);
  if (!(lowest < 22)) return;
  const what = `engines.node is ${JSON.stringify(range)}`;
  report.differs({
    file: manifest.path,
    line: lineOfKey(manifest, "engines"),
    what,
    remedy: `Selvedge needs Node ${NEEDED_NODE} or later.`,
  });
}

/** Whether a range has room for a version, by their major numbers. What it cannot read, it lets pass. */
function allows(range: string, version: string): boolean {
  const major = Number(/^[^\d]*(\d+)/.exec(version)?.[1] ?? NaN);
  if (Number.isNaN(major) || /^[a-z]+:/i.test(version)) return true;
  return range.split("||").some((part) => {
    const wanted = Number(/\d+/.exec(part)?.[0] ?? NaN);
    return Number.isNaN(wanted) || (part.trim().startsWith(">=") ? major >= wanted : major === wanted);
  });
}

function dependenciesOf(json: ProjectManifest): Record<string, string> {
  return {
    ...json.peerDependencies,
    ...json.devDependencies,
    ...json.optionalDependencies,
    ...json.dependencies,
  };
}

function placeOf({ file, line }: { file: string; line: number }): { file: string; line: number } {
  return { file, line };
}

function lineOfKey({ text }: SourceFile, key: string): number {
  return lineOf(text, Math.max(0, text.indexOf(`"${key}":`)));
}
