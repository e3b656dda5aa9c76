import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { RunningCommand } from "./__fixtures__/running-command.ts";

const BIN = fileURLToPath(new URL("../bin/selvedge.js", import.meta.url));
let folder = "";
let server: RunningCommand;
let url = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-remote-"));
  server = new RunningCommand(["dev", "--port", "0", "--model", "demo", "--storage", "chat.db"], {
    cwd: folder,
  });
  url = await server.url();
});

afterAll(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function chat(
  input: string,
  ...args: string[]
): Promise<{ stdout: string; stderr: string; exitCode: number | null }> {
  const child = spawn(process.execPath, ["--conditions=selvedge-source", BIN, "chat", ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] },
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (data) => (stdout += data));
  child.stderr.on("data", (data) => (stderr += data));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (exitCode) => resolve({ stdout, stderr, exitCode }));
  });
}

describe("selvedge chat --url", () => {
  it("talks to an agent of the server, whose thread remembers", async () => {
    const first = await chat("what is 2 * 21?\n", "--url", url, "--thread", "t");
    expect(first.stderr).toContain(`Selvedge chat with demo\nOn ${url}.`);
    expect(first.stdout).toContain("2 * 21 = 42.");
    const second = await chat("what did I say?\n", "--url", url, "--thread", "t");
    expect(second.stdout).toContain("- what is 2 * 21?");
    expect(second.exitCode).toBe(0);
  });

  it("finds with --dev the server that runs in its folder, at whatever port", async () => {
    const { stdout, stderr } = await chat("what is 6 * 7?\n", "--dev", "--thread", "dev");
    expect(stderr).toContain(`Selvedge chat with demo\nOn ${url}.`);
    expect(stdout).toContain("6 * 7 = 42.");
  });

  it(
    "says with --dev what to do when none runs there, or one that was has died",
    { tags: ["long"] },
    async () => {
      const empty = await mkdtemp(join(tmpdir(), "selvedge-nobody-"));
      try {
        const nobody = async () => {
          const command = new RunningCommand(["chat", "--dev"], { cwd: empty });
          expect(await command.exitCode()).toBe(1);
          expect(command.output).toMatch(
            /^selvedge: `selvedge dev` is not running in .*npm run dev.*--url\.\n$/,
          );
        };
        await nobody();
        const dev = new RunningCommand(["dev", "--port", "0", "--model", "demo", "--storage", ":memory:"], {
          cwd: empty,
        });
        await dev.url();
        const note = join(empty, ".selvedge", "dev.json");
        const text = await readFile(note, "utf8");
        await dev.stop();
        await expect(readFile(note, "utf8")).rejects.toMatchObject({ code: "ENOENT" });
        await nobody();
        // As a process leaves it that was killed.
        await writeFile(note, text);
        await nobody();
        await writeFile(note, "no JSON");
        await nobody();
      } finally {
        await rm(empty, { recursive: true, force: true });
      }
    },
  );

  it("asks before a tool runs that wants to be asked", async () => {
    const no = await chat("note that it rains\nn\n", "--url", url, "--thread", "no");
    expect(no.stdout).toContain('Allow write-note {"text":"it rains"} to run?');
    expect(no.stdout).toContain("You declined");
    const yes = await chat("note that it rains\ny\n", "--url", url, "--thread", "yes");
    expect(yes.stdout).toContain("The file has 1 note now.");
  });

  it("names the controllers of the server when the one it wants is not there", async () => {
    const { stderr, exitCode } = await chat("", "--url", url, "--agent", "nobody");
    expect(stderr).toContain('has no controller "nobody". Its controllers: demo.');
    expect(exitCode).toBe(1);
  });

  it("says what a server without a controller needs", async () => {
    const mastra = new Mastra({ storage: new InMemoryStore(), logger: false });
    const bare = await serve({ mastra, port: 0 });
    try {
      const { stderr, exitCode } = await chat("hi\n", "--url", bare.url);
      expect(stderr).toMatch(/has no agent controller\. Register one: new Mastra\({ agentControllers/);
      expect(exitCode).toBe(1);
    } finally {
      await bare.close();
      await mastra.close();
    }
  });

  it("lets no escape sequence in the names of a server reach the terminal", async () => {
    const evil = createServer((_, response) => {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ agentControllers: [{ id: "a\u001b]0;mine\u0007\u001b[31mb" }] }));
    });
    await new Promise<void>((resolve) => evil.listen(0, "127.0.0.1", resolve));
    try {
      const { port } = evil.address() as AddressInfo;
      const { stderr, exitCode } = await chat("", "--url", `http://127.0.0.1:${port}`, "--agent", "other");
      expect(stderr).toContain('has no controller "other". Its controllers: ab.');
      expect(stderr).not.toContain("\u001b");
      expect(exitCode).toBe(1);
    } finally {
      evil.close();
    }
  });

  it("says so when nobody listens there", { tags: ["long"] }, async () => {
    const { stderr, exitCode } = await chat("", "--url", "http://127.0.0.1:9");
    expect(stderr).toMatch(
      /^selvedge: Cannot reach a server at http:\/\/127\.0\.0\.1:9 \([^()]*\)\. Start one with `selvedge dev`/,
    );
    expect(exitCode).toBe(1);
  });

  it.each(["nonsense", "localhost:4111", "ftp://localhost"])("refuses %s as an address", async (address) => {
    const { stderr, exitCode } = await chat("", "--url", address);
    expect(stderr).toBe(
      `selvedge: --url must be an address such as http://127.0.0.1:4111, got "${address}".\n`,
    );
    expect(exitCode).toBe(1);
  });

  it("asks also where the agent runs in the terminal's own process", async () => {
    const { stdout } = await chat("note that it snows\ny\n", "--model", "demo", "--storage", ":memory:");
    expect(stdout).toContain('Allow write-note {"text":"it snows"} to run?');
    expect(stdout).toContain("Written:");
  });
});

describe("selvedge chat --url with a token", () => {
  it("shows who is calling to a server that asks", async () => {
    const storage = new InMemoryStore();
    const memory = new Memory({ storage });
    const agent = new Agent({
      name: "doorman",
      instructions: "",
      model: scriptedModel(["Come in."]),
      memory,
    });
    const door = new AgentController({ id: "door", storage, agent, modes: [{ id: "open" }] });
    const mastra = new Mastra({ agentControllers: { door }, storage, logger: false });
    const guarded = await serve({
      mastra,
      port: 0,
      authorize: (request) =>
        request.headers.get("authorization") === "Bearer open-sesame" ? { resourceId: "ali" } : undefined,
    });
    try {
      expect((await chat("hi\n", "--url", guarded.url)).exitCode).toBe(1);
      const { stdout } = await chat("hi\n", "--url", guarded.url, "--token", "open-sesame");
      expect(stdout).toContain("Come in.");
      expect((await memory.listThreads({ filter: { resourceId: "ali" } })).total).toBe(1);
    } finally {
      await guarded.close();
      await mastra.close();
    }
  });
});
