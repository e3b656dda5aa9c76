import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { watch } from "node:fs";
import { mkdir, mkdtemp, readFile, realpath, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { LibSQLVector } from "@selvedge/libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { IndexJournal } from "./index-journal.ts";
import { ProgressBar, progressLine } from "./progress-bar.ts";

const BIN = fileURLToPath(new URL("../bin/selvedge.js", import.meta.url));

// The real program, with the real model.
describe("selvedge index and selvedge ask", () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    await mkdir(join(folder, "docs", "deep"), { recursive: true });
    await write(
      "looms.md",
      "# Looms\n\nA loom holds the warp under tension.\n\n## Care\n\nOil the pedals once a year.\n",
    );
    await write("deep/bread.txt", "Dough that stays flat had yeast that was too old.\n");
    await write(".hidden.md", "secret");
    await write("picture.md", "\0\0binary");
  });

  afterEach(() => rm(folder, { recursive: true }));

  const write = (path: string, text: string): Promise<void> => writeFile(join(folder, "docs", path), text);

  const start = (...args: string[]): ChildProcess =>
    spawn(process.execPath, ["--conditions=selvedge-source", BIN, ...args], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    });

  const run = async (...args: string[]): Promise<{ code: number | null; out: string; err: string }> => {
    const child = start(...args);
    let out = "";
    let err = "";
    child.stdout!.on("data", (data) => (out += data));
    child.stderr!.on("data", (data) => (err += data));
    await once(child, "close");
    return { code: child.exitCode, out, err };
  };

  it("reads a folder and finds what answers a question", async () => {
    const indexed = await run("index", "docs");
    expect(indexed.code).toBe(0);
    expect(indexed.out).toMatch(
      /^\d passages in index docs \(files: 2 read, 0 unchanged, 0 removed, 1 without text\)/,
    );
    const answer = await run("ask", "why", "did", "my", "bread", "not", "rise?", "--top", "1");
    expect(answer.code).toBe(0);
    expect(answer.out).toMatch(/^1\. deep\/bread\.txt:1 \d\.\d{3}\n {3}Dough that stays flat/);
    const words = await run("ask", "pedal", "--by", "words", "--json");
    expect(JSON.parse(words.out)).toMatchObject({
      path: "looms.md",
      text: expect.stringContaining("Oil the pedals"),
    });
  });

  it(
    "does not show passages as if they answered a question that nothing answers",
    { tags: ["long"] },
    async () => {
      await run("index", "docs");
      const scores = async (...question: string[]): Promise<number[]> => {
        const { out } = await run("ask", ...question, "--json");
        return out
          .trim()
          .split("\n")
          .map((line) => (JSON.parse(line) as { score: number }).score);
      };
      const [answered] = await scores("oil the pedals once a year");
      const [nonsense] = await scores("zzqqx");
      expect(answered).toBeGreaterThan(0.5);
      expect(nonsense).toBeLessThan(0.3);
    },
  );

  it("says on stderr how far it is, in plain lines where there is no terminal", async () => {
    const { out, err } = await run("index", "docs");
    expect(err).toMatch(
      /^Loading the embedding model\nLooking for documents\n0 of 3 files indexed \(0 %\)\n(?:.*\n)*Building the search index\n$/,
    );
    expect(err).not.toMatch(/[\r\x1b]/);
    expect(out).toMatch(/^\d passages in index docs/);
  });

  it("reads anew only what changed, and forgets what is gone", { tags: ["long"] }, async () => {
    await run("index", "docs");
    await write("looms.md", "# Looms\n\nA shuttle carries the weft.\n");
    await rm(join(folder, "docs", "deep"), { recursive: true });
    await write("new.md", "Something new.");
    const again = await run("index", "docs");
    expect(again.out).toMatch(/2 passages in index docs \(files: 2 read, 1 unchanged, 1 removed\)/);
    const gone = await run("ask", "yeast dough", "--by", "words");
    expect(gone).toMatchObject({ code: 1, out: "" });
    const found = await run("ask", "shuttle", "--by", "words");
    expect(found.out).toContain("A shuttle carries the weft.");
    expect((await run("index", "docs")).out).toMatch(/files: 0 read, 3 unchanged/);
    // Other passages than before: everything is read again.
    expect((await run("index", "docs", "--size", "60", "--overlap", "0")).out).toMatch(
      /files: 2 read, 0 unchanged/,
    );
  });

  it("goes on where a run was killed", { tags: ["long"] }, async () => {
    for (let index = 0; index < 30; index++)
      await write(`f${index}.txt`, `Passage number ${index}. `.repeat(8));
    const journal = join(folder, ".selvedge", "index.db.docs.journal");
    await mkdir(join(folder, ".selvedge"));
    await writeFile(journal, "");
    const child = start("index", "docs");
    const exit = once(child, "exit");
    const watcher = watch(journal.slice(0, journal.lastIndexOf("/")));
    const finished = async (): Promise<number> =>
      (await readFile(journal, "utf8").catch(() => "")).split('"done"').length - 1;
    while ((await finished()) < 4) await once(watcher, "change");
    child.kill("SIGKILL");
    await exit;
    watcher.close();
    const before = await finished();
    expect(before).toBeLessThan(33);
    const resumed = await run("index", "docs");
    const [, passages, read, unchanged] = /^(\d+) passages .*files: (\d+) read, (\d+) unchanged/.exec(
      resumed.out,
    )!;
    expect(Number(unchanged)).toBeGreaterThanOrEqual(before - 1);
    expect(Number(read) + Number(unchanged)).toBeGreaterThanOrEqual(32);
    // The same as without the interruption.
    const fresh = await run("index", "docs", "--fresh");
    expect(fresh.out).toMatch(new RegExp(`^${passages} passages `));
  });

  it("says how to go on where it was stopped by hand", { tags: ["long"] }, async () => {
    for (let index = 0; index < 30; index++) await write(`f${index}.txt`, `Number ${index}. `.repeat(40));
    await mkdir(join(folder, ".selvedge"));
    const child = start("index", "docs");
    let err = "";
    child.stderr!.on("data", (data) => (err += data));
    const closed = once(child, "close");
    const watcher = watch(join(folder, ".selvedge"));
    // The journal is there once the run has begun.
    while (!(await stat(join(folder, ".selvedge", "index.db.docs.journal")).catch(() => undefined)))
      await once(watcher, "change");
    watcher.close();
    child.kill("SIGINT");
    await closed;
    expect(child.exitCode).toBe(130);
    expect(err).toMatch(/\nselvedge: stopped\. Run the same command again to continue\.\n$/);
    expect((await run("index", "docs")).code).toBe(0);
  });

  it("keeps the folder that an index holds, unless told to give it up", { tags: ["long"] }, async () => {
    await run("index", "docs");
    await mkdir(join(folder, "other"));
    await writeFile(join(folder, "other", "kiln.md"), "A kiln bakes clay.");
    for (const extra of [[], ["--fresh"]]) {
      const refused = await run("index", "other", ...extra);
      expect(refused).toMatchObject({ code: 1, out: "" });
      expect(refused.err).toContain(`contains the folder ${await realpath(join(folder, "docs"))}`);
      expect(refused.err).toMatch(/--name <name>.*--replace/);
    }
    expect((await run("ask", "pedals", "--by", "words")).out).toContain("Oil the pedals");
    expect((await run("index", "other", "--name", "other")).out).toMatch(/^1 passage in index other/);
    // By another way to the same folder it is the same folder.
    await symlink("docs", join(folder, "link"));
    expect((await run("index", "link")).out).toMatch(/3 unchanged/);
    expect((await run("index", "other", "--replace")).out).toMatch(/^1 passage in index docs/);
    expect((await run("ask", "pedals", "--by", "words")).code).toBe(1);
    // And a project that is moved keeps its index.
    await rename(folder, `${folder}-moved`);
    folder = `${folder}-moved`;
    expect((await run("index", "other")).out).toMatch(/0 read, 1 unchanged/);
  });

  it("leaves an index alone that something else made", async () => {
    const vector = new LibSQLVector({ url: pathToFileURL(join(folder, "own.db")).href });
    await vector.createIndex({ indexName: "docs", dimension: 2 });
    await vector.upsert({ indexName: "docs", vectors: [[1, 0]], ids: ["mine"] });
    const refused = await run("index", "docs", "--database", "own.db");
    expect(refused).toMatchObject({
      code: 1,
      err: expect.stringContaining("was not created by this command"),
    });
    expect(await vector.describeIndex({ indexName: "docs" })).toMatchObject({ dimension: 2, count: 1 });
    await vector.close();
  });

  it("lets one of two runs at once make an index, and tells the other", { tags: ["long"] }, async () => {
    for (let index = 0; index < 20; index++) await write(`f${index}.txt`, `Passage ${index}. `.repeat(8));
    const runs = await Promise.all([1, 2, 3].map(() => run("index", "docs")));
    const done = runs.filter(({ code }) => code === 0);
    expect(done.length).toBeGreaterThan(0);
    for (const { code, err } of runs) {
      if (code !== 0) expect(err).toContain("Another process is building this index");
    }
    expect((await run("index", "docs")).out).toMatch(/files: 0 read, 23 unchanged, 0 removed/);
  });

  it("leaves out what Git leaves out, unless told to read all", { tags: ["long"] }, async () => {
    await write(".gitignore", "deep/\n");
    await mkdir(join(folder, "docs", "node_modules"));
    await write("node_modules/package.md", "A package.");
    const some = await run("index", "docs");
    expect(some.out).toMatch(/files: 1 read, 0 unchanged, 0 removed, 1 without text/);
    // The hidden file, the folder of dependencies and the ignored one.
    expect(some.out).toContain("3 files and folders were skipped; --all reads them too");
    expect((await run("index", "docs", "--all")).out).toMatch(/files: 3 read, 2 unchanged/);
    expect((await run("index", "--help")).out).toContain(".gitignore");
  });

  it("says what is wrong and how to put it right", { tags: ["long"] }, async () => {
    expect(await run("ask", "anything")).toMatchObject({
      code: 1,
      err: expect.stringContaining("selvedge index <folder>"),
    });
    expect(await run("index", "nowhere")).toMatchObject({
      code: 1,
      err: expect.stringContaining("nowhere does not exist. Pass the folder"),
    });
    expect(await run("index", "docs", "--size", "x")).toMatchObject({
      code: 1,
      err: expect.stringContaining("--size"),
    });
    for (const threads of ["0", "17", "x"]) {
      expect(await run("index", "docs", "--threads", threads)).toMatchObject({
        code: 1,
        err: expect.stringMatching(`threads must be a whole number .*, got ${threads}`),
      });
    }
    expect((await run("index", "--help")).out).toContain("only changed files are read");
    expect((await run("ask", "--help")).out).toContain("meaning, words or both");
    expect(await run("index")).toMatchObject({ code: 1, err: expect.stringContaining("Add --help") });
    await run("index", "docs");
    expect(await run("ask", "anything", "--name", "other")).toMatchObject({
      code: 1,
      err: expect.stringContaining("which has: docs. Create it with: selvedge index <folder> --name other"),
    });
  });

  it("keeps what would steer a terminal out of its answers", { tags: ["long"] }, async () => {
    await write("evil.md", "loom \x1b[2J\x1b]0;owned\x07 text");
    await run("index", "docs");
    const { out } = await run("ask", "owned", "--by", "words");
    expect(out).toContain("owned");
    expect(out).not.toMatch(/[\x1b\x07]/);
  });
});

describe("the journal of an index", () => {
  it("overlooks a line that was cut off, and takes a file that was begun for unknown", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    const path = join(folder, "journal");
    const journal = await IndexJournal.open(path);
    await journal.reset({ folder: "docs", embedder: "e", size: 1, overlap: 0 });
    await journal.finish("a", { hash: "1", passages: 2 });
    await journal.finish("b", { hash: "2", passages: 3 });
    await journal.begin("b");
    await writeFile(path, `${await readFile(path, "utf8")}{"done":"c","ha`);
    const opened = await IndexJournal.open(path);
    await opened.finish("d", { hash: "4", passages: 1 });
    const again = await IndexJournal.open(path);
    expect([...again.files.keys()]).toEqual(["a", "d"]);
    expect([...again.unsure]).toEqual(["b"]);
    expect(again.passages).toBe(3);
    await rm(folder, { recursive: true });
  });
});

describe("ProgressBar", () => {
  const at = (share: number) => ({ done: share * 100, total: 100, share, path: "a.md" });

  it("writes a plain line for every tenth of the work, and for ten seconds without one", () => {
    let now = 0;
    let text = "";
    const bar = new ProgressBar({ write: (piece) => (text += piece) }, () => now);
    for (const share of [0, 0.05, 0.1, 0.15]) bar.draw(at(share));
    now = 10_000;
    bar.draw(at(0.19));
    bar.draw(at(0.195));
    bar.clear();
    expect(text.split("\n")).toEqual([
      "0 of 100 files indexed (0 %)",
      "10 of 100 files indexed (10 %)",
      "19 of 100 files indexed (19 %)",
      "",
    ]);
  });

  it("draws one line over itself on a terminal, and takes it away at the end", () => {
    let now = 0;
    let text = "";
    const output = { isTTY: true, columns: 80, write: (piece: string) => (text += piece) };
    const bar = new ProgressBar(output, () => now);
    bar.say("Loading the embedding model");
    bar.draw(at(0));
    now = 100;
    bar.draw(at(0.5));
    bar.clear();
    expect(text).toBe(`\r\x1b[2KLoading the embedding model …\r\x1b[2K${progressLine(at(0.5), 80)}\r\x1b[2K`);
  });
});

describe("progressLine", () => {
  const file = { done: 1, total: 2, share: 0.5, path: "a/b.md" };

  it("fits its terminal", () => {
    expect(progressLine(file, 80)).toBe(`${"█".repeat(12)}${"░".repeat(12)} 1/2 a/b.md`);
    expect(progressLine({ ...file, path: "x".repeat(200) }, 60)).toHaveLength(59);
    const passages = { done: 1_000, total: 2_000 };
    expect(progressLine({ ...file, passages }, 20).length).toBeLessThan(20);
  });

  it("moves within a file", () => {
    const line = progressLine({ ...file, share: 0.75, passages: { done: 16, total: 32 } }, 80);
    expect(line).toBe(`${"█".repeat(18)}${"░".repeat(6)} 1/2 a/b.md, passage 17 of 32`);
  });
});
