import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { start } from "./in-project.ts";
import { findPty, type TestTerminal } from "./test-terminal.ts";

const CTRL_D = "\u0004";
const README = "# Loom\n\nA small project.\n";
const ADDED = "This line was added by the scripted model";

const pty = await findPty();
if ("missing" in pty) console.warn(`skipped: selvedge code on a terminal: ${pty.missing}`);

interface Place {
  base: string;
  folder: string;
  readme(): Promise<string>;
  code(): Promise<TestTerminal>;
}

/** A project and a home directory beside it. */
async function newPlace(): Promise<Place> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "selvedge-code-")));
  onTestFinished(() => rm(base, { recursive: true, force: true, maxRetries: 5 }));
  const [folder, home] = [join(base, "project"), join(base, "home")];
  await mkdir(folder);
  await mkdir(home);
  await writeFile(join(folder, "README.md"), README);
  return {
    base,
    folder,
    readme: () => readFile(join(folder, "README.md"), "utf8"),
    code: () => start(folder, ["code"], { env: { HOME: home }, rows: 40 }),
  };
}

async function trusted(): Promise<Place & { terminal: TestTerminal }> {
  const place = await newPlace();
  const terminal = await place.code();
  await terminal.shows("Do you trust this folder?");
  terminal.type("y\r");
  await terminal.isIdle();
  return { ...place, terminal };
}

/** Output is shown before it is stored. */
async function outputIsStored(folder: string): Promise<void> {
  const own = join(folder, ".selvedge");
  const file = (await readdir(own)).find((name) => /^code-.*\.db$/.test(name))!;
  const store = new DatabaseSync(join(own, file), { readOnly: true });
  const rows = store.prepare("select count(*) as count from selvedge_workspace_output");
  await expect.poll(() => rows.get()?.["count"]).toBeGreaterThan(0);
  store.close();
}

describe.skipIf("missing" in pty)("selvedge code on a terminal", () => {
  it("asks whether to trust a folder until it is trusted, and only reads until then", async () => {
    const { folder, code } = await newPlace();
    const first = await code();
    await first.shows("Do you trust this folder? [y/N]");
    first.type("\r");
    await first.shows("not trusted. Nothing is stored.");
    await first.isIdle();
    first.type("hello\r");
    await first.shows("I can only read here.");
    await first.isIdle();
    first.type(CTRL_D);
    expect(await first.exit).toBe(0);
    expect(await readdir(folder)).toEqual(["README.md"]);
    const second = await code();
    await second.shows("Do you trust this folder? [y/N]");
    second.type("y\r");
    await second.isIdle();
    second.type(CTRL_D);
    expect(await second.exit).toBe(0);
    const third = await code();
    await third.isIdle();
    expect(third.text({ all: true })).not.toContain("Do you trust");
  });

  it("shows the diff, makes the edit that was approved, undoes it, and changes nothing outside the folder", async () => {
    const { base, folder, readme, terminal } = await trusted();
    terminal.type("show me\r");
    await terminal.shows("Allow edit_file to change README.md?");
    expect(terminal.text()).toContain(`  + ${ADDED}`);
    expect(await readme()).toBe(README);
    terminal.type("y\r");
    await terminal.shows("Allow execute_command to run this?");
    expect(terminal.text()).toMatch(/ {2}\$ cat README\.md\nCommands run /);
    expect(await readme()).toContain(ADDED);
    terminal.type("y\r");
    await terminal.shows(/cat README\.md\s+succeeded\./);
    await terminal.isIdle();
    terminal.type("/changes\r");
    await terminal.shows("1  edit README.md (+2 -0)");
    terminal.type("/undo\r");
    await terminal.shows("Undone: edit README.md (+2 -0)");
    expect(await readme()).toBe(README);
    terminal.type("/undo\r");
    await terminal.shows("There is nothing to undo.");
    terminal.type("/permissions\r");
    await terminal.shows("Everything else asks first.");
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
    expect((await readdir(folder)).toSorted()).toEqual([".selvedge", "README.md"]);
    const outside = await readdir(base, { recursive: true });
    expect(outside.filter((path) => !path.startsWith("project")).toSorted()).toEqual([
      "home",
      "home/.selvedge",
      "home/.selvedge/trusted-folders.json",
    ]);
  });

  it("edits a clone, runs its tests, undoes the edit, and leaves the clone as it was", async () => {
    const place = await newPlace();
    const { base, folder, readme } = place;
    const git = (...args: string[]) =>
      execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", ...args], {
        cwd: folder,
        encoding: "utf8",
      });
    await writeFile(join(folder, "test.sh"), "grep -q Loom README.md && echo 1 test passed\n");
    for (const args of [
      ["init", "-q"],
      ["add", "-A"],
      ["commit", "-qm", "first"],
    ])
      git(...args);
    await rename(folder, join(base, "origin"));
    execFileSync("git", ["clone", "-q", join(base, "origin"), folder]);
    const inGit = await readdir(join(folder, ".git"));
    const terminal = await place.code();
    await terminal.shows("Do you trust this folder?");
    terminal.type("y\r");
    await terminal.isIdle();
    terminal.type("show me\r");
    await terminal.shows("Allow edit_file to change README.md?");
    terminal.type("y\r");
    await terminal.shows("Allow execute_command to run this?");
    terminal.type("y\r");
    await terminal.shows(/cat README\.md\s+succeeded\./);
    await terminal.isIdle();
    terminal.type("run sh test.sh\r");
    await terminal.shows("Allow execute_command to run this?");
    terminal.type("y\r");
    await terminal.shows(/^ {2}1 test passed$/m);
    await terminal.isIdle();
    expect(git("diff", "--stat")).toContain("README.md");
    terminal.type("/undo\r");
    await terminal.shows("Undone: edit README.md");
    expect(await readme()).toBe(README);
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
    expect(git("status", "--porcelain").replace("?? .selvedge/\n", "")).toBe("");
    const made = (await readdir(join(folder, ".git"))).filter((name) => !inGit.includes(name));
    expect(made).toEqual([]);
    expect((await readdir(base)).toSorted()).toEqual(["home", "origin", "project"]);
  });

  it("shows the output of a command while it runs, and marks one that fails", async () => {
    const { folder, terminal } = await trusted();
    terminal.type("run echo begun; while [ ! -e gate ]; do sleep 0.05; done; echo ended; exit 3\r");
    await terminal.shows("Allow execute_command");
    terminal.type("y\r");
    await terminal.shows(/^ {2}begun$/m);
    expect(terminal.status).toContain("working");
    await writeFile(join(folder, "gate"), "");
    await terminal.shows(/✗ execute_command .*\n {2}begun\n {2}ended\n {2}Exit code: 3/);
    await terminal.shows(/exit\s+code\s+3\./);
  });

  it("knows its edits after it was killed, and reports the command that ran then as unknown", async () => {
    const { readme, code, folder, terminal } = await trusted();
    terminal.type("show me\r");
    await terminal.shows("Allow edit_file");
    terminal.type("y\r");
    await terminal.shows("Allow execute_command");
    terminal.type("n\r");
    await terminal.shows(/so\s+it\s+did\s+not\s+run/);
    await terminal.isIdle();
    terminal.type("run echo x >> runs; echo begun; sleep 600\r");
    await terminal.shows("Allow execute_command");
    terminal.type("y\r");
    await terminal.shows(/^ {2}begun$/m);
    await outputIsStored(folder);
    await terminal.stop();
    const second = await code();
    await second.shows(/is\s+unknown:\s+it\s+was\s+interrupted/);
    await second.shows(/Its\s+output\s+before\s+that:[\s`]+begun/);
    await second.isIdle();
    expect(await readFile(join(folder, "runs"), "utf8")).toBe("x\n");
    second.type("/changes\r");
    await second.shows("1  edit README.md (+2 -0)");
    second.type("/undo 1\r");
    await second.shows("Undone: edit README.md");
    expect(await readme()).toBe(README);
  });

  it("lists the skills of the folder, and starts one by its name", async () => {
    const place = await newPlace();
    await mkdir(join(place.folder, "skills/weave"), { recursive: true });
    await writeFile(
      join(place.folder, "skills/weave/SKILL.md"),
      "---\nname: weave\ndescription: Weaves cloth.\n---\nWarp first.",
    );
    const terminal = await place.code();
    await terminal.shows("Do you trust this folder?");
    terminal.type("y\r");
    await terminal.isIdle();
    terminal.type("/help\r");
    await terminal.shows(/\/weave +skill: Weaves cloth\./);
    terminal.type("/weave a scarf\r");
    await terminal.shows("I will look around first.");
    expect(terminal.text()).not.toContain("Unknown command");
  });

  it("carries out a plan that was approved", { tags: ["long"] }, async () => {
    const { readme, terminal } = await trusted();
    terminal.type("/mode plan\r");
    await terminal.shows("Mode: plan");
    terminal.type("show me\r");
    await terminal.shows("Approve this plan?");
    expect(await readme()).toBe(README);
    terminal.type("y\r");
    await terminal.shows("Mode: build");
    await terminal.shows("Allow edit_file to change README.md?");
  });

  it("shows how a file that is written as a whole changes", { tags: ["long"] }, async () => {
    const { folder, code, terminal } = await trusted();
    await rm(join(folder, "README.md"));
    terminal.type("show me\r");
    await terminal.shows("Allow write_file to change NOTES.md?");
    expect(terminal.text()).toContain("  + # Notes");
    // A question that waits is asked again, with its diff.
    terminal.type(CTRL_D);
    expect(await terminal.exit).toBe(0);
    const second = await code();
    await second.shows("Allow write_file to change NOTES.md?");
    expect(second.text()).toContain("  + # Notes");
  });
});
