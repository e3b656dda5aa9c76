import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { TrustedFolders } from "./code/trusted-folders.ts";

const BIN = fileURLToPath(new URL("../bin/selvedge.js", import.meta.url));

/** A project, a home directory, and a folder beside them. */
async function newPlace(): Promise<{ folder: string; home: string; outside: string }> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "selvedge-code-")));
  onTestFinished(() => rm(base, { recursive: true, force: true, maxRetries: 5 }));
  const place = { folder: join(base, "project"), home: join(base, "home"), outside: join(base, "outside") };
  for (const folder of Object.values(place)) await mkdir(folder);
  await writeFile(join(place.folder, "README.md"), "# Loom\n");
  return place;
}

function code(
  folder: string,
  home: string,
  input: string,
): Promise<{ output: string; exitCode: number | null }> {
  const args = ["--conditions=selvedge-source", BIN, "code", folder, "--model", "demo"];
  const child = spawn(process.execPath, args, { cwd: home, env: { PATH: process.env["PATH"], HOME: home } });
  let output = "";
  child.stdout.on("data", (data) => (output += data));
  child.stderr.on("data", (data) => (output += data));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ output, exitCode }));
  });
}

describe("selvedge code", () => {
  it("only reads where nobody can say whether to trust the folder, and stores nothing", async () => {
    const { folder, home } = await newPlace();
    // What came with the folder does not count.
    await mkdir(join(folder, ".selvedge"));
    await writeFile(
      join(folder, ".selvedge", "trusted-folders.json"),
      JSON.stringify({ [folder]: { storeId: "0123456789abcdef" } }),
    );
    const { output, exitCode } = await code(folder, home, "hello\n");
    expect(output).toContain("this folder is not trusted");
    expect(output).toContain('→ read_file "README.md"');
    expect(output).toContain("I can only read here.");
    expect(exitCode).toBe(0);
    expect(await readdir(join(folder, ".selvedge"))).toEqual(["trusted-folders.json"]);
    expect(await readdir(home)).toEqual([]);
  });

  it("does not store anything through a link that came with the folder", async () => {
    const { folder, home, outside } = await newPlace();
    await new TrustedFolders(home).trust(folder);
    await symlink(outside, join(folder, ".selvedge"));
    const { output, exitCode } = await code(folder, home, "hello\n");
    expect(output).toContain(".selvedge is not a folder. Remove it and start again.");
    expect(exitCode).toBe(1);
    expect(await readdir(outside)).toEqual([]);
  });

  it("only reads in a folder that contains the home directory", async () => {
    const { home } = await newPlace();
    await new TrustedFolders(home).trust(home);
    const { output } = await code(home, home, "run touch made\n");
    expect(output).toContain("contains your home directory");
    expect(output).toContain("I cannot run commands here.");
  });

  it("says which folder it cannot open", async () => {
    const { home, folder } = await newPlace();
    const missing = await code(join(folder, "missing"), home, "");
    expect(missing.output).toContain(`The folder "${join(folder, "missing")}" cannot be opened`);
    expect((await code(join(folder, "README.md"), home, "")).output).toContain("is not a folder");
  });
});
