import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";

const PROGRAM = join(import.meta.dirname, "attached-caller.ts");

/** What a program prints until it ends by itself. */
async function printed(how: string, url: string): Promise<string> {
  const child = spawn(process.execPath, ["--conditions=selvedge-source", PROGRAM, how, url], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  return (await Array.fromAsync(child.stdout, String)).join("").trim();
}

describe("a program that waits for a run that sleeps, begun by a process that died", () => {
  it.each(["restart", "attach", "observe"])("stays alive until it ends: %s", async (how) => {
    const folder = await mkdtemp(join(tmpdir(), "attached-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const url = `file:${join(folder, "store.db")}`;
    await printed("start", url);
    expect(await printed(how, url)).toBe("success");
  });
});
