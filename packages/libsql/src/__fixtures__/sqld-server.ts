import { type ChildProcess, spawn } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort } from "@selvedge/testing";

const SQLD = fileURLToPath(new URL("../../../../node_modules/.cache/sqld/sqld", import.meta.url));

/** Why there is no libSQL server here, or `undefined`. */
export const sqldMissing: string | undefined = existsSync(SQLD)
  ? undefined
  : "sqld is not there; scripts/ensure-sqld fetches it on Linux";

/** A real libSQL server (sqld) with an empty database in a temporary folder, on a free port of the loopback. */
export class SqldServer {
  readonly port: number;
  readonly #folder: string;
  readonly #flags: readonly string[];
  #child: ChildProcess | undefined;

  private constructor(folder: string, port: number, flags: readonly string[]) {
    this.#folder = folder;
    this.port = port;
    this.#flags = flags;
  }

  /** With `publicKey` (PEM), only tokens signed with its private key are accepted. */
  static async start(publicKey?: string): Promise<SqldServer> {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-sqld-"));
    const key = join(folder, "key.pem");
    if (publicKey !== undefined) await writeFile(key, publicKey);
    const flags = publicKey === undefined ? [] : ["--auth-jwt-key-file", key];
    const server = new SqldServer(folder, await freePort(), flags);
    await server.begin();
    return server;
  }

  url(scheme = "http"): string {
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  /** Starts it, again with the data it had. */
  async begin(): Promise<void> {
    const args = ["-d", join(this.#folder, "data"), "--http-listen-addr", `127.0.0.1:${this.port}`];
    this.#child = spawn(SQLD, [...args, "--no-welcome", ...this.#flags], { stdio: "ignore" });
    while (!(await fetch(`${this.url()}/health`).catch(() => undefined))?.ok) await wait(10);
  }

  /** Ends it as a crash does. */
  async kill(): Promise<void> {
    const closed = once(this.#child!, "close");
    this.#child!.kill("SIGKILL");
    await closed;
  }

  async stop(): Promise<void> {
    await this.kill();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

/** A key for a server, and tokens that it accepts. */
export function makeTokens(): { publicKey: string; token(claims?: object): string } {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
  return {
    publicKey: String(publicKey.export({ type: "spki", format: "pem" })),
    token: (claims = { a: "rw" }) => {
      const text = `${part({ alg: "EdDSA", typ: "JWT" })}.${part(claims)}`;
      return `${text}.${sign(null, Buffer.from(text), privateKey).toString("base64url")}`;
    },
  };
}
