import { execFile, execFileSync } from "node:child_process";
import { chownSync, existsSync, globSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@selvedge/testing";
import type { TestServer } from "./pglite-server.ts";

const run = promisify(execFile);

/** Why there is no real PostgreSQL with pgvector here, or where its programs are. */
export function findPostgres(): { bin: string } | { missing: string } {
  const bin = globSync("/usr/lib/postgresql/*/bin/initdb")
    .map((path) => dirname(path))
    .toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }))
    .at(-1);
  if (!bin) return { missing: "PostgreSQL is not installed; npm run setup:pgvector installs it on Debian" };
  const share = execFileSync(join(bin, "pg_config"), ["--sharedir"], { encoding: "utf8" }).trim();
  if (!existsSync(join(share, "extension", "vector.control"))) {
    return { missing: "PostgreSQL has no pgvector; npm run setup:pgvector builds it on Debian" };
  }
  return { bin };
}

/** A separate cluster in a temporary folder, on a free loopback port. */
export async function startPostgres(bin: string): Promise<TestServer> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-pg-"));
  const owner = serverUser();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const options = { cwd: folder, ...owner };
  const data = join(folder, "data");
  const port = await freePort();
  await run(
    join(bin, "initdb"),
    ["-D", data, "-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync"],
    options,
  );
  const settings = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} -c fsync=off`;
  const log = join(folder, "log");
  await run(join(bin, "pg_ctl"), ["-D", data, "-l", log, "-o", settings, "-w", "start"], options);
  return {
    connectionString: `postgresql://postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await run(join(bin, "pg_ctl"), ["-D", data, "-m", "fast", "-w", "stop"], options);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** PostgreSQL does not run as root. */
export function serverUser(): { uid: number; gid: number } | undefined {
  return process.getuid?.() === 0 ? idsOf("postgres") : undefined;
}

function idsOf(user: string): { uid: number; gid: number } {
  const id = (flag: string): number => Number(execFileSync("id", [flag, user], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}
