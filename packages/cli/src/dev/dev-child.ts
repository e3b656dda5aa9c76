import { existsSync } from "node:fs";
import { AgentError } from "@selvedge/core/errors";
import { type RunningServer, serve } from "@selvedge/server/node";
import { studioFolder } from "@selvedge/studio";
import { closeOnSignals } from "../build/serve-host.ts";
import type { DevMessage, DevSettings } from "./dev-messages.ts";
import { explainLoadError } from "./explain-load-error.ts";
import { registerProjectModules } from "./project-modules.ts";

/*
 * The process that serves a project. It is started by DevSupervisor, tells it which files it loaded and when it is
 * ready, and ends on request or when the supervisor is gone.
 */

const DEFAULT_PORT = 4111;
const PORTS_TO_TRY = 20;
/** How long what is under way may take to end; the supervisor is less patient. */
const CLOSE_MS = 5000;

const settings = JSON.parse(process.argv[2] ?? "{}") as DevSettings;

function tell(message: DevMessage, told?: () => void): void {
  if (process.connected) process.send?.(message, undefined, {}, told);
  else told?.();
}

async function start(): Promise<void> {
  if (existsSync(".env")) process.loadEnvFile(".env");
  registerProjectModules((file) => tell({ kind: "file", file }));
  const { entry } = settings;
  const { mastra, about } = entry === undefined ? await demo() : await project(entry);
  const first = settings.port ?? mastra.getServer?.()?.port ?? DEFAULT_PORT;
  const server = await listen(first, (port) =>
    serve({ mastra, hostname: settings.host, port, studio: studioFolder() }),
  );
  const close = closeOnSignals(server, mastra, CLOSE_MS);
  process.on("disconnect", close);
  tell({ kind: "ready", url: server.url, port: server.port, about });
}

async function demo(): Promise<{ mastra: Parameters<typeof serve>[0]["mastra"]; about: string }> {
  const { createDemoMastra } = await import("./demo-mastra.ts");
  return createDemoMastra(settings);
}

async function project(
  entry: string,
): Promise<{ mastra: Parameters<typeof serve>[0]["mastra"]; about: string }> {
  const { loadMastra } = await import("./load-mastra.ts");
  const { wrapAgents } = await import("../chat/wrap-agent.ts");
  const mastra = await loadMastra(entry);
  await wrapAgents(mastra);
  return { mastra, about: "" };
}

async function listen(first: number, open: (port: number) => Promise<RunningServer>): Promise<RunningServer> {
  for (let port = first, tries = 1; ; port++, tries++) {
    try {
      return await open(port);
    } catch (error) {
      const taken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!taken || !settings.anyPort || tries >= PORTS_TO_TRY) throw new AddressError(error, port);
    }
  }
}

/** The server could not listen where it was told to. */
class AddressError extends AgentError {
  constructor(cause: unknown, port: number) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const taken = `Port ${port} on ${settings.host} is in use. Choose another with --port, or leave it out to use a free one.`;
    const other = AgentError.is(cause)
      ? `${settings.host} can be reached from other machines, and \`selvedge dev\` does not authenticate callers. ` +
        "Leave out --host. To serve others, write a server with an `authorize` function (serve from @selvedge/server/node)."
      : `Cannot listen on ${settings.host}:${port}: ${message}`;
    super("invalid-argument", code === "EADDRINUSE" ? taken : other, { cause });
  }
}

start().catch(async (error: unknown) => {
  const final = error instanceof AddressError || settings.entry === undefined;
  const isTold = final && AgentError.is(error);
  const explained = await explainLoadError(error);
  const message =
    explained ?? (error instanceof Error ? (!isTold && error.stack) || error.message : String(error));
  const code = (error as { code?: unknown } | null)?.code;
  // What a project opened before it failed must not keep this process.
  const needsTransform = code === "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX";
  tell({ kind: "failed", message, needsTransform, final }, () => process.exit(1));
});
