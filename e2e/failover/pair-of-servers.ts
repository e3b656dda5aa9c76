import { execFile } from "node:child_process";
import { chownSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "@selvedge/testing";
import { findPostgres, serverUser } from "../../packages/pg/src/__fixtures__/postgres-server.ts";

const run = promisify(execFile);

export interface PairOfServers {
  primary: number;
  standby: number;
  /** Kills the primary as a crash of its machine does. */
  kill(): void;
  promote(): Promise<void>;
  stop(): Promise<void>;
}

/** A primary and a standby that follows it, on two ports of the loopback, or why they do not start here. */
export async function startPair(isSynchronous: boolean): Promise<PairOfServers | { missing: string }> {
  const found = findPostgres();
  if ("missing" in found) return found;
  const folder = await mkdtemp(join(tmpdir(), "selvedge-failover-"));
  const owner = serverUser();
  if (owner) chownSync(folder, owner.uid, owner.gid);
  const program = (name: string, ...args: string[]) =>
    run(join(found.bin, name), args, { cwd: folder, ...owner });
  const [primary, standby] = [await freePort(), await freePort()];
  const start = (name: string, port: number, settings = ""): Promise<unknown> => {
    const options = `-p ${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories=${folder} ${settings}`;
    return program(
      "pg_ctl",
      "-D",
      join(folder, name),
      "-l",
      join(folder, `${name}.log`),
      "-o",
      options,
      "-w",
      "start",
    );
  };
  const stop = (name: string): Promise<unknown> =>
    program("pg_ctl", "-D", join(folder, name), "-m", "immediate", "-w", "stop").catch(() => {});
  await program(
    "initdb",
    "-D",
    join(folder, "primary"),
    "-A",
    "trust",
    "-U",
    "postgres",
    "-E",
    "UTF8",
    "--no-sync",
  );
  await start("primary", primary);
  const address = `host=127.0.0.1 port=${primary} user=postgres application_name=standby`;
  await program(
    "pg_basebackup",
    "-d",
    address,
    "-D",
    join(folder, "standby"),
    "-R",
    "-X",
    "stream",
    "-c",
    "fast",
  );
  await start("standby", standby);
  // Only now: without a standby, a synchronous primary answers no commit.
  if (isSynchronous)
    for (const sql of ["ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()"])
      await program("psql", "-h", "127.0.0.1", "-p", String(primary), "-U", "postgres", "-c", sql);
  return {
    primary,
    standby,
    kill: () => {
      const [pid] = readFileSync(join(folder, "primary", "postmaster.pid"), "utf8").split("\n");
      process.kill(Number(pid), "SIGKILL");
    },
    promote: async () => void (await program("pg_ctl", "-D", join(folder, "standby"), "-w", "promote")),
    stop: async () => {
      await stop("standby");
      await stop("primary");
      await rm(folder, { recursive: true, force: true });
    },
  };
}
