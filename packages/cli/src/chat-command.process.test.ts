import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const BIN = fileURLToPath(new URL("../bin/selvedge.js", import.meta.url));

interface Ended {
  stdout: string;
  stderr: string;
  exitCode: number | null;
  /** How many pieces the answer came in. */
  pieces: number;
}

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-cli-"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function selvedge(args: string[], input = "", env: Record<string, string> = {}): Promise<Ended> {
  const child = spawn(process.execPath, ["--conditions=selvedge-source", BIN, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"], ...env },
  });
  const ended: Ended = { stdout: "", stderr: "", exitCode: null, pieces: 0 };
  child.stdout.on("data", (data) => {
    ended.stdout += data;
    ended.pieces++;
  });
  child.stderr.on("data", (data) => (ended.stderr += data));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ ...ended, exitCode }));
  });
}

const chat = (input: string, ...args: string[]): Promise<Ended> =>
  selvedge(["chat", "--model", "demo", ...args], input);

describe.concurrent("selvedge chat", () => {
  it("answers piped input word by word, says what it is, and ends", async () => {
    const { stdout, stderr, exitCode, pieces } = await chat("hi\n", "--storage", ":memory:");
    expect(stdout).toMatch(/^I am a scripted demo model: no language model is configured/);
    expect(stderr).toContain("a scripted model");
    expect(pieces).toBeGreaterThan(10);
    expect(exitCode).toBe(0);
  });

  it("shows a tool call and its result on lines of their own", { tags: ["long"] }, async () => {
    const { stdout } = await chat("what is 12 * (3 + 4)?\n", "--storage", ":memory:");
    expect(stdout.split("\n")).toEqual([
      "I will calculate that.",
      '→ calculator "12 * (3 + 4)"',
      '← {"expression":"12 * (3 + 4)","value":84}',
      expect.stringContaining("12 * (3 + 4) = 84."),
      "",
    ]);
  });

  it("goes on with the conversation in another process", async () => {
    const first = await chat("my cat is called Loom\n");
    expect(first.stderr).not.toContain("last conversation");
    const second = await chat("what did I say?\n");
    expect(second.stderr).toContain("last conversation (2 messages)");
    expect(second.stdout).toContain("- my cat is called Loom");
  });

  it("keeps conversations apart with /new and --thread", { tags: ["long"] }, async () => {
    const args = ["--storage", "threads.db", "--thread", "a"];
    const { stdout } = await chat("red\n/new\nwhat did I say?\n", ...args);
    expect(stdout).toContain("Started a new conversation.");
    expect(stdout).toContain("your first message");
    const back = await chat("what did I say?\n", ...args);
    expect(back.stdout).toContain("- red");
  });

  it("leaves at /quit and explains commands", async () => {
    const { stdout, exitCode } = await chat("/help\n/nonsense\n/quit\nhi\n", "--storage", ":memory:");
    expect(stdout).toMatch(/\/new \[title\] +start a new conversation/);
    expect(stdout).toContain("Unknown command /nonsense.");
    expect(stdout).not.toContain("scripted");
    expect(exitCode).toBe(0);
  });

  it("names the variable when the chosen model has no key", async () => {
    const { stderr, exitCode } = await selvedge(["chat", "--model", "openai/gpt-5.5"], "hi\n");
    expect(stderr).toContain("OPENAI_API_KEY");
    expect(exitCode).toBe(1);
  });

  it("takes the model from SELVEDGE_MODEL", async () => {
    const { stderr } = await selvedge(["chat", "--storage", ":memory:"], "", { SELVEDGE_MODEL: "demo" });
    expect(stderr).toContain("chosen with SELVEDGE_MODEL");
  });
});

describe.concurrent("selvedge", () => {
  it("tells its version and its commands", async () => {
    expect((await selvedge(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+(?:-[\w.]+)?\n$/);
    expect((await selvedge(["--help"])).stdout).toContain("chat");
  });

  it("refuses options it does not know", async () => {
    const { stderr, exitCode } = await selvedge(["chat", "--modle", "demo"]);
    expect(stderr).toContain("--modle");
    expect(exitCode).toBe(1);
  });
});
