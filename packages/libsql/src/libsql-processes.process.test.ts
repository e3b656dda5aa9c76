import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { MESSAGES, MESSAGE_STEPS, RESOURCES } from "@selvedge/core/storage";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LibSQLStore } from "./libsql-store.ts";

const PROGRAM = fileURLToPath(new URL("__fixtures__/writer.ts", import.meta.url));
const NOBODY = 65_534;

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** A writer in a process of its own, with all it has printed so far. */
class Writer {
  readonly lines: string[] = [];
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;

  constructor(name: string, commits: number, options: SpawnOptions = {}) {
    const flags = ["--conditions=selvedge-source", "--disable-warning=ExperimentalWarning"];
    this.#child = spawn(process.execPath, [...flags, PROGRAM, `file:${file}`, name, String(commits)], {
      ...options,
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#ended = once(this.#child, "close");
    createInterface({ input: this.#child.stdout! }).on("line", (line) => this.lines.push(line));
  }

  go(): void {
    this.#child.stdin!.write("go\n");
  }

  async until(reached: () => boolean): Promise<void> {
    while (!reached() && this.#child.exitCode === null) await once(this.#child.stdout!, "data");
  }

  async end(): Promise<void> {
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }
}

async function counts(): Promise<{ messages: number; steps: number; counter: unknown }> {
  const storage = new LibSQLStore({ url: `file:${file}` });
  const [counter] = await storage.select({ table: RESOURCES, where: { id: "counter" } });
  const result = {
    messages: await storage.count({ table: MESSAGES }),
    steps: await storage.count({ table: MESSAGE_STEPS }),
    counter: counter?.version ?? 0,
  };
  await storage.close();
  return result;
}

describe("a libSQL file shared by processes", () => {
  it("is migrated once when several open it at the same moment, and loses nothing they write at once", async () => {
    const writers = ["a", "b", "c"].map((name) => new Writer(name, 150));
    await Promise.all(writers.map((writer) => writer.until(() => writer.lines.includes("open"))));
    for (const writer of writers) writer.go();
    await Promise.all(writers.map((writer) => writer.end()));
    for (const writer of writers) expect(writer.lines.at(-1)).toBe("149");
    expect(await counts()).toEqual({ messages: 450, steps: 450, counter: 450 });
  });

  it("holds whole commits and every acknowledged one after its writer was killed", async () => {
    const writer = new Writer("a", 1_000_000);
    await writer.until(() => writer.lines.includes("open"));
    writer.go();
    await writer.until(() => writer.lines.length > 100);
    await writer.kill();
    const acknowledged = writer.lines.length - 1;
    const found = await counts();
    expect(found.messages).toBeGreaterThanOrEqual(acknowledged);
    expect(found).toEqual({ messages: found.messages, steps: found.messages, counter: found.messages });
    const database = new Database(file);
    expect(database.pragma("integrity_check")).toEqual([{ integrity_check: "ok" }]);
    database.close();
  });

  it("does not let a process end while its commit waits for the lock", async () => {
    const writer = new Writer("a", 1);
    await writer.until(() => writer.lines.includes("open"));
    const other = new Database(file);
    other.exec("BEGIN IMMEDIATE");
    writer.go();
    await wait(200);
    other.exec("COMMIT");
    other.close();
    await writer.end();
    expect(writer.lines).toEqual(["open", "0"]);
  });

  it.each([
    ["the file is read-only", 0o777, ["open", expect.stringMatching(/^failed storage-failed .*read-only/)]],
    [
      "the folder is read-only too",
      0o555,
      [expect.stringMatching(/^failed storage-failed .*(read-only|cannot be opened)/)],
    ],
  ])("fails a write with the reason, and keeps what it has, when %s", async (_, mode, expected) => {
    const storage = new LibSQLStore({ url: `file:${file}` });
    await storage.commit([{ op: "insert", table: RESOURCES, row: { id: "counter", version: 7 } }]);
    await storage.close();
    for (const side of [`${file}-wal`, `${file}-shm`]) await rm(side, { force: true });
    await chmod(file, 0o444);
    await chmod(folder, mode);
    // Permissions do not bind root.
    const writer = new Writer("a", 1, process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {});
    await writer.until(() => writer.lines.length > 0);
    writer.go();
    await writer.end();
    await chmod(folder, 0o755);
    await chmod(file, 0o644);
    expect(writer.lines).toEqual(expected);
    expect(await counts()).toEqual({ messages: 0, steps: 0, counter: 7 });
  });
});
