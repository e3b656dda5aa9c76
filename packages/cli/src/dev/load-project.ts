import { existsSync } from "node:fs";
import type { Mastra } from "@selvedge/core";
import { AgentError, errorMessage } from "@selvedge/core/errors";

/** The host of a project, to be used in this process. `command` works on a server, for projects that Node cannot load. */
export async function loadProject(entry: string, command: string): Promise<Mastra> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { registerProjectModules } = await import("./project-modules.ts");
  registerProjectModules(() => {});
  const { loadMastra } = await import("./load-mastra.ts");
  try {
    return await loadMastra(entry);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    throw new AgentError(
      "invalid-argument",
      `Node cannot run ${entry} without transforming it (${errorMessage(error)}). Run \`selvedge dev\`, then \`${command}\`.`,
      { cause: error },
    );
  }
}
