import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { builtEntry } from "./build/build-project.ts";
import { serveHost } from "./build/serve-host.ts";
import { explainLoadError } from "./dev/explain-load-error.ts";
import { findEntry } from "./dev/find-entry.ts";
import { loadMastra } from "./dev/load-mastra.ts";
import { registerProjectModules } from "./dev/project-modules.ts";

export interface StartFlags {
  port?: string;
  host?: string;
}

/** `selvedge start [folder]`: serves what `selvedge build` wrote, or a project as it is. The process ends on a signal. */
export async function runStartCommand(folder: string, { port, host }: StartFlags): Promise<number> {
  const path = resolve(folder);
  if (!existsSync(path)) throw new AgentError("not-found", `There is no folder ${path}.`);
  process.chdir(path);
  if (existsSync(".env")) process.loadEnvFile(".env");
  if (port !== undefined) process.env["PORT"] = port;
  if (host !== undefined) process.env["HOST"] = host;
  const entry = builtEntry(path) ?? findEntry(path, undefined);
  if (entry === undefined)
    throw new AgentError("not-found", `${path} is neither a project nor the output of \`selvedge build\`.`);
  registerProjectModules(() => {});
  const mastra = await loadMastra(entry).catch(async (error: unknown) => {
    const explained = await explainLoadError(error);
    throw explained === undefined ? error : new AgentError("invalid-argument", explained, { cause: error });
  });
  await serveHost(mastra);
  return new Promise(() => {});
}
