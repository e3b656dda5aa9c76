import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { nap, processesWith, sandboxIn } from "./__fixtures__/sandbox.ts";

const COUNT_READS = fileURLToPath(new URL("__fixtures__/count-reads.ts", import.meta.url));

/** Seconds that no other command sleeps. */
const NAP = nap();

const plain = (options: Parameters<typeof sandboxIn>[0] = {}) => sandboxIn({ isolation: "none", ...options });

describe("a command without isolation", () => {
  it("returns its output, exit code and time", async () => {
    const { sandbox } = plain();
    const result = await sandbox.executeCommand("echo out; echo err >&2; exit 3");
    expect(result).toMatchObject({ success: false, exitCode: 3, stdout: "out\n", stderr: "err\n" });
    expect(result.killed).toBeUndefined();
    expect((await sandbox.executeCommand("kill -9 $$")).exitCode).toBe(137);
    expect((await sandbox.executeCommand("printf '%s|'", ["a b", "it's", "$HOME"])).stdout).toBe(
      "a b|it's|$HOME|",
    );
  });

  it("costs the same however many processes the machine has", () => {
    const { root } = plain();
    const flags = ["--conditions=selvedge-source", "--no-warnings"];
    expect(execFileSync(process.execPath, [...flags, COUNT_READS, root], { encoding: "utf8" })).toBe("0\n");
  });

  it("runs byte for byte as it was given", async () => {
    const { sandbox } = plain();
    const command = "printf '%s' 'ü\r\t\"\\\\$HOME`x`' # a | tail -5";
    expect((await sandbox.executeCommand(command)).stdout).toBe('ü\r\t"\\\\$HOME`x`');
    const handle = await sandbox.processes.spawn(`sleep ${NAP}7621;  true `);
    await expect.poll(() => processesWith(`sleep ${NAP}7621;  true \0`)).toBeGreaterThan(0);
    await handle.kill();
  });

  it("has an environment of its own, and no input", async () => {
    process.env["SECRET_OF_HOST"] = "hunter2";
    const { sandbox } = plain({ env: { GIVEN: "yes" } });
    const { stdout } = await sandbox.executeCommand("env; cat; ls -A ~");
    delete process.env["SECRET_OF_HOST"];
    expect(stdout).not.toContain("hunter2");
    expect(stdout).toMatch(/^GIVEN=yes$/m);
    expect(stdout).toMatch(/^TERM=dumb$/m);
  });

  it("ends with its group: on timeout, on abort, when it is killed, and when the sandbox stops", async () => {
    const { sandbox } = plain();
    const loud = `sleep ${NAP}7611 & sleep ${NAP}7612 & wait`;
    const deaf = `sleep ${NAP}7611 & (trap '' TERM; sleep ${NAP}7612) & wait`;
    const late = await sandbox.executeCommand(deaf, [], { timeout: 200 });
    expect(late).toMatchObject({ timedOut: true, killed: true });
    expect(processesWith(`${NAP}761`)).toBe(0);
    const controller = new AbortController();
    const aborted = sandbox.executeCommand(loud, [], { abortSignal: controller.signal });
    await expect.poll(() => processesWith(`sleep\u0000${NAP}761`)).toBe(2);
    controller.abort();
    expect(await aborted).toMatchObject({ killed: true });
    expect(processesWith(`${NAP}761`)).toBe(0);
    await sandbox.processes.spawn(loud);
    const second = await sandbox.processes.spawn(`exec sleep ${NAP}7613`);
    expect(await sandbox.processes.list()).toContainEqual({
      pid: second.pid,
      command: `exec sleep ${NAP}7613`,
      running: true,
    });
    expect(await sandbox.processes.kill(second.pid)).toBe(true);
    expect(await sandbox.processes.kill(second.pid)).toBe(false);
    await sandbox.stop();
    expect(processesWith(`${NAP}761`)).toBe(0);
    expect((await sandbox.executeCommand("echo again")).stdout).toBe("again\n");
  });

  it("does not leave children behind when it exits by itself", async () => {
    const { sandbox } = plain();
    expect((await sandbox.executeCommand(`sleep ${NAP}7601 & echo done`)).stdout).toBe("done\n");
    expect(processesWith(`${NAP}7601`)).toBe(0);
  });

  it("takes input from its handle, and its output can be read as a stream", async () => {
    const { sandbox } = plain();
    const handle = await sandbox.processes.spawn("cat");
    const pieces: string[] = [];
    handle.reader.on("data", (bytes: Buffer) => pieces.push(bytes.toString()));
    await handle.sendStdin("hello ");
    await handle.sendStdin("world");
    await handle.closeStdin();
    const heard: string[] = [];
    expect(await handle.wait({ onStdout: (text) => heard.push(text) })).toMatchObject({
      stdout: "hello world",
    });
    await expect.poll(() => pieces.join("")).toBe("hello world");
  });

  it("starts in a directory of the workspace only", async () => {
    const { sandbox, root, outside } = plain();
    mkdirSync(join(root, "sub"));
    symlinkSync(outside, join(root, "link"));
    expect((await sandbox.executeCommand("pwd", [], { cwd: "sub" })).stdout).toBe(`${join(root, "sub")}\n`);
    for (const cwd of ["..", "link", outside, "/etc"]) {
      await expect(sandbox.executeCommand("pwd", [], { cwd }), cwd).rejects.toThrow();
    }
    await expect(sandbox.executeCommand("pwd", [], { cwd: "nowhere" })).rejects.toThrow("is not a directory");
    await expect(sandbox.executeCommand("")).rejects.toThrow("must be a non-empty string");
    await expect(sandbox.executeCommand("a\0b")).rejects.toThrow("must be a non-empty string");
    await expect(sandbox.executeCommand("x".repeat(100_001))).rejects.toThrow("the limit is 100000");
    expect(readdirSync(root).toSorted()).toEqual(["link", "sub"]);
  });

  it("keeps the last megabyte of its output, and counts the rest", async () => {
    const { sandbox } = plain();
    const result = await sandbox.executeCommand("head -c 5000000 /dev/zero | tr '\\0' x; echo end");
    expect(result.stdout).toHaveLength(1 << 20);
    expect(result.stdout.endsWith("xend\n")).toBe(true);
    expect(result).toMatchObject({ stdoutTruncated: true, stdoutDroppedBytes: 5_000_004 - (1 << 20) });
  });

  it("does not run if the process that starts it is stopped before it may", async () => {
    const { sandbox, root } = plain();
    const error = new Error("no");
    const refused = sandbox.processes.spawn("touch ran", { beforeRun: () => Promise.reject(error) });
    await expect(refused).rejects.toBe(error);
    const stopped = sandbox.processes.spawn("touch ran", { beforeRun: () => sandbox.stop() });
    await expect(stopped).rejects.toThrow("was stopped");
    expect(readdirSync(root)).toEqual([]);
  });
});
