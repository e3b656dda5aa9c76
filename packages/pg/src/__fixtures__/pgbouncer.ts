import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { freePort } from "@selvedge/testing";

/** Why there is no PgBouncer here, or `undefined`. */
export const pgbouncerMissing: string | undefined = isInstalled()
  ? undefined
  : "PgBouncer is not installed; scripts/ensure-pgbouncer installs it on Debian";

function isInstalled(): boolean {
  try {
    execFileSync("pgbouncer", ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

/** PgBouncer in transaction mode before a server: each transaction may get another connection. */
export class Pgbouncer {
  readonly connectionString: string;
  readonly #folder: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number, server: URL) {
    this.#folder = folder;
    this.#port = port;
    const url = new URL(server);
    url.port = String(port);
    this.connectionString = url.href;
  }

  static async start(serverUrl: string): Promise<Pgbouncer> {
    const server = new URL(serverUrl);
    const folder = await mkdtemp(join(tmpdir(), "selvedge-pgbouncer-"));
    await chmod(folder, 0o755);
    const port = await freePort();
    const config = `
      [databases]
      postgres = host=127.0.0.1 port=${server.port} dbname=postgres
      [pgbouncer]
      listen_addr = 127.0.0.1
      listen_port = ${port}
      unix_socket_dir =
      auth_type = plain
      auth_file = ${join(folder, "users.txt")}
      pool_mode = transaction
      default_pool_size = 4
      max_client_conn = 500
      ignore_startup_parameters = extra_float_digits
    `;
    await writeFile(join(folder, "pgbouncer.ini"), config.replaceAll(/^ +/gm, ""));
    await writeFile(join(folder, "users.txt"), `"${server.username}" "${server.password}"\n`);
    const pooler = new Pgbouncer(folder, port, server);
    await pooler.begin();
    return pooler;
  }

  async begin(): Promise<void> {
    // It does not run as root.
    const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
    this.#child = spawn("pgbouncer", ["-q", ...user, join(this.#folder, "pgbouncer.ini")], {
      stdio: "ignore",
    });
    while (!(await this.#listens())) {
      if (this.#child.exitCode !== null) throw new Error(`PgBouncer ended with ${this.#child.exitCode}`);
      await wait(10);
    }
  }

  async kill(): Promise<void> {
    const closed = once(this.#child!, "close");
    this.#child!.kill("SIGKILL");
    await closed;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }

  async #listens(): Promise<boolean> {
    const socket = connect(this.#port, "127.0.0.1");
    try {
      await once(socket, "connect");
      return true;
    } catch {
      return false;
    } finally {
      socket.destroy();
    }
  }
}
