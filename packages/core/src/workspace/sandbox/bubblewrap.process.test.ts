import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { bubblewrapMissing, nap, processesWith, sandboxIn } from "./__fixtures__/sandbox.ts";
import { LocalSandbox } from "./local-sandbox.ts";

/** Seconds that no other command sleeps. */
const NAP = nap();

const missing = await bubblewrapMissing();
if (missing) console.warn(`skipped: commands in bubblewrap (scripts/ensure-bubblewrap): ${missing}`);

describe.skipIf(missing)("a command in bubblewrap", () => {
  it("writes in the working directory and nowhere else", async () => {
    const { sandbox, root, outside } = sandboxIn();
    const places = [outside, "/usr", "/etc", "/", "/var/tmp", homedir(), "/proc/sys/kernel"];
    const tries = places.map((place) => `touch ${place}/escaped 2>&1 && echo ESCAPED ${place}`).join("; ");
    const { stdout } = await sandbox.executeCommand(`echo mine > mine.txt; mkdir d; ${tries}; true`);
    // The root and the home of the sandbox are its own.
    for (const place of places) expect(existsSync(join(place, "escaped")), place).toBe(false);
    expect(stdout).not.toContain(`ESCAPED ${outside}`);
    expect(stdout).not.toContain("ESCAPED /usr");
    expect(readFileSync(join(root, "mine.txt"), "utf8")).toBe("mine\n");
    await sandbox.executeCommand(`ln -s ${outside} link; echo changed > link/secret.txt`);
    expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe("secret");
  });

  it("sees neither files outside, nor home, nor other processes", async () => {
    const { sandbox, outside } = sandboxIn();
    const { stdout, stderr } = await sandbox.executeCommand(
      `cat ${outside}/secret.txt; cat /etc/passwd /etc/shadow; ls -A ~ ${homedir()} /tmp /opt; ls -d /proc/[0-9]* | wc -l; cat /proc/1/environ`,
    );
    expect(stdout + stderr).not.toContain("root:");
    expect(stdout).not.toMatch(/^secret$/m);
    expect(stdout).not.toContain("VITEST=");
    expect(Number(/^(\d+)$/m.exec(stdout)?.[1])).toBeLessThan(10);
    const { stdout: killed } = await sandbox.executeCommand(`kill -0 ${process.pid} 2>&1 || echo unseen`);
    expect(killed).toContain("unseen");
  });

  it("has no network, unless it is allowed", async () => {
    const server = createServer((_, response) => response.end("reached"));
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const command = `node -e 'fetch("http://127.0.0.1:${port}").then(r=>r.text()).then(console.log,()=>console.log("refused"))'`;
    const node = { env: { PATH: `${join(process.execPath, "..")}:/usr/bin:/bin` } };
    const paths = { readOnlyPaths: [join(process.execPath, "..")] };
    const closed = sandboxIn({ nativeSandbox: paths, ...node });
    expect((await closed.sandbox.executeCommand(command)).stdout).toBe("refused\n");
    const open = sandboxIn({ nativeSandbox: { ...paths, allowNetwork: true }, ...node });
    expect((await open.sandbox.executeCommand(command)).stdout).toBe("reached\n");
    const asked = await closed.sandbox.processes.spawn(command, { access: "network" });
    expect((await asked.wait()).stdout).toBe("reached\n");
    server.close();
  });

  it("gets no environment variable of the host", async () => {
    process.env["SECRET_OF_HOST"] = "hunter2";
    const { sandbox } = sandboxIn({ env: { GIVEN: "yes" } });
    const { stdout } = await sandbox.executeCommand("env; cat /proc/*/environ", [], { env: { MORE: "too" } });
    delete process.env["SECRET_OF_HOST"];
    expect(stdout).not.toContain("hunter2");
    const names = (await sandbox.executeCommand("env")).stdout.match(/^\w+(?==)/gm);
    expect(names?.toSorted()).toEqual(["CI", "GIVEN", "HOME", "LANG", "PATH", "PWD", "TERM"]);
    expect(stdout).toContain("MORE=too");
  });

  it("cannot change the hooks and the configuration of Git, nor move them away", async () => {
    const { sandbox, root } = sandboxIn();
    execFileSync("git", ["init", "-q", root]);
    const config = readFileSync(join(root, ".git/config"), "utf8");
    const hooks = readdirSync(join(root, ".git/hooks"));
    mkdirSync(join(root, ".selvedge"));
    for (const attempt of [
      "echo evil > .git/hooks/pre-commit",
      "echo evil >> .git/config",
      "git config core.hooksPath /tmp/evil",
      "rm -rf .git/hooks .git/config",
      "mv .git .git-old && mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
      "mv .git/hooks .git/h && mkdir .git/hooks && echo evil > .git/hooks/pre-commit",
      "echo evil > .selvedge/skill",
      "unshare -Urm sh -c 'umount .git/hooks; mount -t tmpfs x .git; echo evil > .git/hooks/pre-commit'",
    ]) {
      await sandbox.executeCommand(attempt);
      expect(readFileSync(join(root, ".git/config"), "utf8"), attempt).toBe(config);
      expect(readdirSync(join(root, ".git/hooks")), attempt).toEqual(hooks);
      expect(readdirSync(join(root, ".selvedge")), attempt).toEqual([]);
      expect(existsSync(join(root, ".git-old")), attempt).toBe(false);
    }
    const { exitCode } = await sandbox.executeCommand(
      "echo x > f && git add f && git -c user.name=a -c user.email=b commit -qm x",
    );
    expect(exitCode).toBe(0);
  });

  it("cannot create them when another sandbox in the same directory has ended", async () => {
    const { root, sandbox } = sandboxIn({ isolation: "bwrap" });
    const other = new LocalSandbox({ workingDirectory: root, isolation: "bwrap", logger: false });
    onTestFinished(() => other.destroy());
    const until = (name: string) => `touch at-${name}; until [ -e ${name} ]; do sleep 0.01; done`;
    const isAt = (name: string) =>
      expect.poll(() => existsSync(join(root, `at-${name}`)), { timeout: 20_000 }).toBe(true);
    const first = other.executeCommand(until("first"));
    await isAt("first");
    const second = sandbox.executeCommand(`${until("second")}; mkdir .git .git/hooks .selvedge .selvedge/x`);
    await isAt("second");
    writeFileSync(join(root, "first"), "");
    await first;
    writeFileSync(join(root, "second"), "");
    expect((await second).stderr.match(/Read-only file system/g)).toHaveLength(2);
    expect(readdirSync(root)).not.toContain(".git");
  });

  it("cannot create them where they are absent, and leaves no trace of that", async () => {
    const { sandbox, root } = sandboxIn();
    const results = await Promise.all(
      [
        "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        "rmdir .git; mkdir .git/x",
        "mv .git x; git init -q .",
        "ln -s /tmp .selvedge/x",
      ].map((command) => sandbox.executeCommand(command)),
    );
    expect(results.map(({ success }) => success)).toEqual([false, false, false, false]);
    expect(readdirSync(root)).toEqual([]);
    symlinkSync("/tmp", join(root, ".git"));
    await expect(sandbox.executeCommand("true")).rejects.toThrow(
      "is a symbolic link, which the sandbox cannot protect",
    );
  });

  it("takes everything it started with it: on exit, on timeout and when it is killed", async () => {
    const { sandbox } = sandboxIn();
    const sleeper = `setsid sleep ${NAP}7651 & (trap '' TERM; sleep ${NAP}7652) &`;
    expect((await sandbox.executeCommand(`${sleeper} echo done`)).stdout).toBe("done\n");
    expect(processesWith(`${NAP}765`)).toBe(0);
    const late = await sandbox.executeCommand(`${sleeper} wait`, [], { timeout: 300 });
    expect(late).toMatchObject({ timedOut: true, killed: true, success: false });
    expect(processesWith(`${NAP}765`)).toBe(0);
    const handle = await sandbox.processes.spawn(`${sleeper} wait`);
    await expect.poll(() => processesWith(`sleep\u0000${NAP}765`)).toBe(2);
    expect(await handle.kill()).toBe(true);
    expect(processesWith(`${NAP}765`)).toBe(0);
  });

  it("can end in order when it is asked to", async () => {
    const { sandbox } = sandboxIn();
    const handle = await sandbox.processes.spawn("trap 'echo bye; exit 3' TERM; echo ready; sleep 60 & wait");
    await expect.poll(() => handle.stdout).toBe("ready\n");
    await handle.kill();
    expect(await handle.wait()).toMatchObject({ stdout: "ready\nbye\n", exitCode: 3, killed: true });
  });

  it("dies with the process that started it", async () => {
    const { root } = sandboxIn();
    const program = fileURLToPath(new URL("__fixtures__/start-and-hang.ts", import.meta.url));
    const flags = ["--conditions=selvedge-source", "--no-warnings"];
    const child = spawn(process.execPath, [...flags, program, root, `sleep ${NAP}7641`], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    await expect.poll(() => processesWith(`sleep\u0000${NAP}7641`)).toBe(1);
    child.kill("SIGKILL");
    await expect.poll(() => processesWith(`${NAP}7641`)).toBe(0);
  });

  it("ends at a limit: output, file size and processes", async () => {
    const { sandbox, root } = sandboxIn({ limits: { outputBytes: 8 << 20, fileBytes: 1 << 20 } });
    const loud = await sandbox.executeCommand("yes", [], { timeout: 60_000 });
    expect(loud).toMatchObject({ killed: true, success: false });
    expect(loud.timedOut).toBeUndefined();
    expect(loud.stdout.length + loud.stdoutDroppedBytes!).toBeLessThan(64 << 20);
    await sandbox.executeCommand("head -c 4000000 /dev/zero > big");
    expect(readFileSync(join(root, "big")).length).toBeLessThanOrEqual(1 << 20);
    // As root, the kernel does not limit the number: the end of the sandbox ends them all.
    const bomb = `i=0; while [ $i -lt 300 ]; do setsid sleep ${NAP}7631 & i=$((i+1)); done; wait`;
    const ended = await sandbox.executeCommand(bomb, [], { timeout: 3000 });
    expect(ended.timedOut).toBe(true);
    expect(processesWith(`${NAP}7631`)).toBe(0);
  });

  it.runIf(process.getuid?.() === 0)(
    "cannot start more processes than it may, if it is not root",
    async () => {
      const { root } = sandboxIn();
      const program = fileURLToPath(new URL("__fixtures__/fork-bomb.ts", import.meta.url));
      execFileSync("chmod", ["-R", "a+rwX", join(root, "..")]);
      const flags = ["--conditions=selvedge-source", "--no-warnings"];
      const stdout = execFileSync(process.execPath, [...flags, program, root], {
        uid: 65_534,
        gid: 65_534,
        encoding: "utf8",
      });
      const { isolation, forks } = JSON.parse(stdout) as { isolation: string; forks: number };
      expect(isolation).toBe("bwrap");
      expect(forks).toBeGreaterThan(0);
      expect(forks).toBeLessThan(64);
    },
  );
});

describe.skipIf(missing)("a sandbox", () => {
  it("says which isolation is in force, and does not fall back to none by itself", async () => {
    const { sandbox, root } = sandboxIn();
    expect(await sandbox.getInfo()).toMatchObject({
      isolation: "bwrap",
      network: false,
      workingDirectory: root,
    });
    const path = process.env["PATH"];
    process.env["PATH"] = "/nowhere";
    try {
      const auto = sandboxIn().sandbox;
      expect(await auto.getInfo()).toMatchObject({ isolation: "none", network: true });
      await expect(sandboxIn({ isolation: "bwrap" }).sandbox.start()).rejects.toThrow(
        'isolation: "bwrap" does not work here: There is no program bwrap in PATH.',
      );
    } finally {
      process.env["PATH"] = path;
    }
  });

  it("keeps a working directory read-only if it is told to, and shows more paths", async () => {
    const { sandbox, root, outside } = sandboxIn({ nativeSandbox: { readOnly: true } });
    expect((await sandbox.executeCommand("touch a")).success).toBe(false);
    expect(readdirSync(root)).toEqual([]);
    const wider = sandboxIn({ nativeSandbox: { readWritePaths: [outside] } });
    writeFileSync(join(outside, "b"), "");
    expect((await wider.sandbox.executeCommand(`echo c > ${outside}/b`)).success).toBe(true);
    expect(readFileSync(join(outside, "b"), "utf8")).toBe("c\n");
  });
});
