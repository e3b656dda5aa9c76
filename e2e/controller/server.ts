import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type ClientSession, MastraClient } from "@selvedge/client-js";

/** A process that serves a controller. It sends its port when it is ready. */
export class Server {
  readonly port: number;
  readonly ended: Promise<unknown>;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, port: number, ended: Promise<unknown>) {
    this.#child = child;
    this.port = port;
    this.ended = ended;
  }

  static async start(program: URL, config: object): Promise<Server> {
    const args = [
      "--conditions=selvedge-source",
      "--no-warnings",
      fileURLToPath(program),
      JSON.stringify(config),
    ];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const ended = once(child, "exit");
    const [{ port }] = (await once(child, "message")) as [{ port: number }];
    return new Server(child, port, ended);
  }

  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** The session `s1`, as a client of this server has it. */
  session(): ClientSession {
    const baseUrl = `http://127.0.0.1:${this.port}`;
    const client = new MastraClient({ baseUrl, backoffMs: 20, maxBackoffMs: 50, retries: 1000 });
    return client.getAgentController("loom").session("s1", { reconnect: { delayMs: 20 } });
  }
}
