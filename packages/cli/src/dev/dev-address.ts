import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AgentError } from "@selvedge/core/errors";

interface DevAddress {
  url: string;
  /** Of the `selvedge dev` that serves there. */
  pid: number;
}

const fileIn = (folder: string): string => join(folder, ".selvedge", "dev.json");

/** Notes where the project in a folder is served, for commands that want to talk to it. */
export function noteDevAddress(folder: string, url: string): void {
  try {
    mkdirSync(dirname(fileIn(folder)), { recursive: true });
    writeFileSync(fileIn(folder), `${JSON.stringify({ url, pid: process.pid } satisfies DevAddress)}\n`);
  } catch {
    // A folder that cannot be written to can be served all the same.
  }
}

/** Takes the note away, unless it is that of another process by now. */
export function forgetDevAddress(folder: string): void {
  if (read(folder)?.pid === process.pid) rmSync(fileIn(folder), { force: true });
}

/** Where the project in a folder is served now. */
export function findDevAddress(folder: string): string {
  const address = read(folder);
  if (address && isAlive(address.pid)) return address.url;
  throw new AgentError(
    "not-found",
    `\`selvedge dev\` is not running in ${folder}. Start it in another terminal (npm run dev), or pass a server with --url.`,
  );
}

function read(folder: string): DevAddress | undefined {
  try {
    const { url, pid } = JSON.parse(readFileSync(fileIn(folder), "utf8")) as Partial<DevAddress>;
    if (typeof url === "string" && Number.isSafeInteger(pid) && pid! > 0) return { url, pid: pid! };
  } catch {
    // Not there, or another process's.
  }
  return undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // It exists and belongs to another process.
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
