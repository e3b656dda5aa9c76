import { relative } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import { forgetDevAddress, noteDevAddress } from "./dev/dev-address.ts";
import { DevSupervisor } from "./dev/dev-supervisor.ts";
import { findEntry } from "./dev/find-entry.ts";
import { createStyle, wantsColor } from "./style.ts";

export interface DevFlags {
  port?: string;
  host: string;
  model?: string;
  storage: string;
  color: boolean;
}

/** `selvedge dev`: serves a project with its studio, and restarts when its files change. */
export async function runDevCommand(named: string | undefined, flags: DevFlags): Promise<number> {
  const { stdout, stderr, env } = process;
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const folder = process.cwd();
  const entry = findEntry(folder, named);
  const ended = Promise.withResolvers<number>();
  const supervisor = new DevSupervisor(
    {
      entry,
      host: flags.host,
      port: toPort(flags.port),
      anyPort: flags.port === undefined,
      model: flags.model,
      storage: flags.storage,
    },
    {
      ready({ url, about, ms, because }) {
        noteDevAddress(folder, url);
        const seconds = `${(ms / 1000).toFixed(1)} s`;
        const what = about || relative(folder, entry ?? "");
        const why =
          because === undefined
            ? `${what}, ready in ${seconds}`
            : `restarted in ${seconds}: ${shown(because)}`;
        stdout.write(`${style.bold("Selvedge")} is at ${style.cyan(url)} ${style.dim(`(${why})`)}\n`);
      },
      failed: (message) =>
        stderr.write(`${style.red(message)}\n${style.dim("Waiting for a file to change …")}\n`),
      gaveUp(message) {
        stderr.write(`selvedge: ${message}\n`);
        ended.resolve(1);
      },
      stopped: (code, again) =>
        stderr.write(
          `${style.red(`The server stopped (${code === null ? "killed" : `exit code ${code}`}).`)} ` +
            `${style.dim(again ? "Restarting …" : "Waiting for a file to change …")}\n`,
        ),
    },
  );
  const shown = (because: string): string => {
    const path = relative(folder, because);
    return path.startsWith("..") ? because : `${path} changed`;
  };
  supervisor.start();
  process.once("SIGINT", () => ended.resolve(0));
  process.once("SIGTERM", () => ended.resolve(0));
  const exitCode = await ended.promise;
  forgetDevAddress(folder);
  await supervisor.close();
  return exitCode;
}

function toPort(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new AgentError(
    "invalid-argument",
    `--port must be a number from 0 to 65535, got ${JSON.stringify(text)}.`,
  );
}
