import { mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { TestTerminal, type TestTerminalOptions } from "./test-terminal.ts";

const PROJECT = fileURLToPath(new URL("project.ts", import.meta.url));

/** A folder with the project of these tests, for as long as a test runs. */
export async function newProject(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-terminal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  await symlink(PROJECT, join(folder, "mastra.ts"));
  return folder;
}

/** A command on a terminal, for as long as a test runs. */
export async function start(
  cwd: string,
  args: readonly string[] = ["chat"],
  options: Partial<TestTerminalOptions> = {},
): Promise<TestTerminal> {
  const terminal = await TestTerminal.start(args, { cwd, ...options });
  onTestFinished(() => terminal.stop());
  return terminal;
}
