import { mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { scratch } from "../workspace/__fixtures__/scratch.ts";
import { bubblewrapMissing } from "../workspace/sandbox/__fixtures__/sandbox.ts";
import { LocalSandbox, type LocalSandboxOptions } from "../workspace/sandbox/local-sandbox.ts";
import { Workspace } from "../workspace/workspace.ts";
import { call, controllerWith } from "./__fixtures__/controller-with.ts";

const missing = await bubblewrapMissing();
if (missing) console.warn(`skipped: commands in granted directories (scripts/ensure-bubblewrap): ${missing}`);

const run = (command: string, cwd?: string) =>
  call("mastra_workspace_execute_command", { command, ...(cwd && { cwd }) });

function scene(answers: Parameters<typeof controllerWith>[0], options: LocalSandboxOptions = {}) {
  const { files, root } = scratch();
  const { outside } = scratch();
  const sandbox = new LocalSandbox({ workingDirectory: root, isolation: "bwrap", logger: false, ...options });
  onTestFinished(() => sandbox.destroy());
  const workspace = new Workspace({ filesystem: files, sandbox });
  const made = controllerWith(answers, { workspace, initialState: { yolo: true } });
  /** What the model saw last. */
  const seen = () => JSON.stringify(made.model.calls.at(-1)!.prompt);
  return { ...made, root, outside, seen };
}

describe.skipIf(missing)("a command of a session that was given a directory", () => {
  it("reads and writes there, from the answer on, and nowhere else", async () => {
    const { outside } = scratch();
    const { controller, seen, model } = scene([
      run(`cat ${outside}/secret.txt`),
      call("request_access", { path: outside, reason: "To build." }),
      run(`cat secret.txt; echo made > made; echo x > ../escaped; mkdir -p .git/hooks`, outside),
      "Done.",
    ]);
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    await session.sendMessage({ content: "Go" });
    expect(seen()).toContain("No such file");
    await session.respondToToolSuspension({ resumeData: { granted: true } });
    await expect.poll(() => model.calls.length).toBe(4);
    expect(seen()).toContain(`"value":"secret`);
    expect(readFileSync(join(outside, "made"), "utf8")).toBe("made\n");
    expect(readdirSync(join(outside, "..")).includes("escaped")).toBe(false);
    expect(readdirSync(outside).toSorted()).toEqual(["made", "secret.txt"]);
  });

  it("only reads there if the sandbox is read-only", async () => {
    const { outside } = scratch();
    const { controller, seen } = scene([run(`cat secret.txt; touch made`, outside), "Done."], {
      nativeSandbox: { readOnly: true },
    });
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    await session.state.set({ sandboxAllowedPaths: [outside] } as never);
    await session.sendMessage({ content: "Go" });
    expect(seen()).toContain("Read-only file system");
    expect(readdirSync(outside)).toEqual(["secret.txt"]);
  });

  it("does not reach what took the place of the directory", async () => {
    const { outside } = scratch();
    const given = join(outside, "given");
    mkdirSync(given);
    const { controller, seen } = scene([
      run(`echo hi > ${given}/a`),
      "Done.",
      run(`cat ${given}/secret.txt`),
      "Done.",
    ]);
    const session = await controller.createSession({ id: "s", ownerId: "o" });
    await session.state.set({ sandboxAllowedPaths: [given] } as never);
    await session.sendMessage({ content: "Go" });
    expect(readFileSync(join(given, "a"), "utf8")).toBe("hi\n");
    renameSync(given, join(outside, "old"));
    symlinkSync(outside, given);
    await session.sendMessage({ content: "Go" });
    expect(seen()).toContain("No such file");
  });
});
