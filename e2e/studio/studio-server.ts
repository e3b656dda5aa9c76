import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@selvedge/testing";

const BIN = fileURLToPath(new URL("../../packages/cli/bin/selvedge.js", import.meta.url));

/** `selvedge dev` with the demo agent in a folder of its own, to be killed and started again on the same port. */
export class StudioServer {
  readonly url: string;
  readonly #port: number;
  readonly #folder: string;
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#port = port;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(): Promise<StudioServer> {
    const server = new StudioServer(await mkdtemp(join(tmpdir(), "selvedge-studio-")), await freePort());
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    const args = [
      "--conditions=selvedge-source",
      BIN,
      "dev",
      "--model",
      "demo",
      "--port",
      String(this.#port),
    ];
    // In a process group of its own: a kill reaches the process that serves, too.
    const child = spawn(process.execPath, args, {
      cwd: this.#folder,
      detached: true,
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      child.stdout!.on("data", (data) => String(data).includes("is at") && resolve());
      child.once("exit", (code) => reject(new Error(`selvedge dev ended with ${code}.`)));
    });
  }

  /** As a power cut would. */
  async kill(): Promise<void> {
    const child = this.#child!;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    process.kill(-child.pid!, "SIGKILL");
    await ended;
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}
