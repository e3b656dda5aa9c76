import { MastraClient } from "@selvedge/client-js";
import { AgentError } from "@selvedge/core/errors";
import { findDevAddress } from "../dev/dev-address.ts";
import { findEntry } from "../dev/find-entry.ts";
import { loadProject } from "../dev/load-project.ts";
import { remoteClient, unreachable } from "../remote-client.ts";

export interface WorkflowPlace {
  url?: string;
  /** The server that `selvedge dev` runs in this folder. */
  dev?: boolean;
  token?: string;
  resource?: string;
}

export interface OpenWorkflows {
  client: MastraClient;
  /** The arguments that lead other commands to the same place. */
  where: string;
  /** Whether runs go on when this process ends. */
  isRemote: boolean;
  close(): Promise<void>;
}

/** The workflows of a server, or of the project in this folder, in this process. */
export async function openWorkflows(place: WorkflowPlace): Promise<OpenWorkflows> {
  const url = place.url ?? (place.dev ? findDevAddress(process.cwd()) : undefined);
  if (url === undefined) return openProject(place);
  const client = remoteClient(url, place.token ?? process.env["SELVEDGE_TOKEN"]);
  await client.listWorkflows().catch((error: unknown) => unreachable(url, error));
  const where = place.url === undefined ? " --dev" : ` --url ${url}`;
  return { client, where, isRemote: true, close: async () => {} };
}

/** A client of this process: local and remote runs take the same way. */
async function openProject({ resource }: WorkflowPlace): Promise<OpenWorkflows> {
  const entry = findEntry(process.cwd(), undefined);
  if (entry === undefined)
    throw new AgentError(
      "not-found",
      `There is no project in ${process.cwd()}. Go to a folder with src/mastra/index.ts, pass a server with --url, or use --dev where selvedge dev runs.`,
    );
  const mastra = await loadProject(entry, "selvedge workflow … --dev");
  const { createServer } = await import("@selvedge/server");
  // Whoever can load the project can do everything with it.
  const authorize = () => ({ resourceId: resource ?? "local", grants: "all" as const });
  const server = createServer({ mastra, ...(mastra.getServer?.()?.auth && { authorize }) });
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (target, init) => server.fetch(new Request(target, init)),
  });
  return {
    client,
    where: "",
    isRemote: false,
    close: async () => {
      server.close();
      await mastra.close();
    },
  };
}
