import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { LocalFilesystem, LocalSandbox, Workspace } from "@selvedge/core/workspace";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nap, processesWith } from "../../packages/core/src/workspace/sandbox/__fixtures__/sandbox.ts";
import type { ChildConfig } from "./child.ts";

/** Seconds that no other command sleeps. */
const NAP = nap();

const PROGRAM = fileURLToPath(new URL("./child.ts", import.meta.url));
const { backend, available, message } = await LocalSandbox.detectIsolation();
const hasBubblewrap = backend === "bwrap" && available;
if (!hasBubblewrap)
  console.warn(`skipped: kills of commands in bubblewrap (scripts/ensure-bubblewrap): ${message}`);

let folder: string;
let root: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-"));
  root = join(folder, "root");
  mkdirSync(root);
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs a command in a process that kills itself. */
async function killed(config: Partial<ChildConfig> & Pick<ChildConfig, "kill" | "command" | "isolation">) {
  const full: ChildConfig = {
    file: join(folder, "store.db"),
    root,
    background: false,
    asks: false,
    when: "after",
    nth: 1,
    ...config,
  };
  const flags = ["--conditions=selvedge-source", "--no-warnings"];
  const child = spawn(process.execPath, [...flags, PROGRAM, JSON.stringify(full)], { stdio: "inherit" });
  const [, signal] = (await once(child, "exit")) as [number, string];
  expect(signal).toBe("SIGKILL");
}

/** The next process on this machine. */
function nextProcess(isolation: "none" | "bwrap", { script = [] as object[], asks = false } = {}) {
  const storage = new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
  const model = scriptedModel([...(script as never[]), "Understood."]);
  const agent = new Agent({
    name: "runner",
    instructions: "Run commands.",
    model,
    memory: new Memory({ storage }),
    workspace: new Workspace({
      filesystem: new LocalFilesystem({ basePath: root }),
      sandbox: new LocalSandbox({ workingDirectory: root, isolation, logger: false }),
      tools: { mastra_workspace_execute_command: { requireApproval: asks } },
    }),
  });
  const mastra = new Mastra({ agents: { agent }, storage, logger: false });
  /** What the model was given last, after the thread was continued. */
  const end = async (): Promise<string> => {
    await expect.poll(() => model.calls.length).toBe(script.length + 1);
    const given = JSON.stringify(model.calls.at(-1)!.prompt);
    await mastra.close();
    await storage.close();
    return given;
  };
  return { agent, mastra, end };
}

/** The next process continues the thread; returns what its model was given last. */
async function recovered(isolation: "none" | "bwrap", script: object[] = []): Promise<string> {
  const { mastra, end } = nextProcess(isolation, { script });
  await mastra.start();
  return end();
}

const effects = (): number =>
  existsSync(join(root, "effects")) ? readFileSync(join(root, "effects"), "utf8").split("\n").length - 1 : 0;

describe.each([{ isolation: "none" as const }, { isolation: "bwrap" as const }])(
  "a process that is killed with a command, isolation $isolation,",
  ({ isolation }) => {
    const it_ = isolation === "none" || hasBubblewrap ? it : it.skip;
    const UNKNOWN = "its outcome is unknown. It was not run again.";
    const mark = "echo effect >> effects; echo said; touch marked";

    it_("before the command was recorded, leaves it to be run once", async () => {
      await killed({ isolation, kill: "row", when: "before", command: mark });
      expect(effects()).toBe(0);
      expect(await recovered(isolation)).toContain("said");
      expect(effects()).toBe(1);
    });

    it_("after it was recorded and before it started, never runs it", async () => {
      await killed({ isolation, kill: "row", when: "after", command: mark });
      const given = await recovered(isolation);
      expect(given).toContain(UNKNOWN);
      expect(given).toContain("It is no longer running.");
      expect(effects()).toBe(0);
    });

    it_("while it runs, leaves nothing of it running", async () => {
      await killed({ isolation, kill: "when marked", command: `${mark}; sleep ${NAP}7511` });
      const given = await recovered(isolation);
      expect(given).toContain(UNKNOWN);
      expect(given).toContain(
        isolation === "none" ? "It was still running and has been killed." : "It is no longer running.",
      );
      expect(effects()).toBe(1);
      expect(processesWith(`${NAP}7511`)).toBe(0);
    });

    it_.each([1, 3])("during its output, keeps what was stored (commit %i)", async (nth) => {
      const command = `echo effect >> effects; for i in 1 2 3 4 5 6; do echo said $i; sleep 0.3; done; sleep ${NAP}7512`;
      await killed({ isolation, kill: "output", nth, command });
      const given = await recovered(isolation);
      expect(given).toContain(UNKNOWN);
      expect(given).toContain(`said ${nth === 1 ? 1 : 2}`);
      expect(effects()).toBe(1);
      expect(processesWith(`${NAP}7512`)).toBe(0);
    });

    it_("after it ended and before its result was stored, returns its result", async () => {
      await killed({ isolation, kill: "exit", command: `${mark}; exit 3` });
      const given = await recovered(isolation);
      expect(given).toContain("said\\nExit code: 3");
      expect(given).not.toContain("unknown");
      expect(effects()).toBe(1);
    });

    it_("before its end was stored, does not run it again", async () => {
      await killed({ isolation, kill: "exit", when: "before", command: `${mark}; exit 3` });
      expect(await recovered(isolation)).toContain(UNKNOWN);
      expect(effects()).toBe(1);
    });

    it_("in the background, says that it is lost and shows its stored output", async () => {
      const command = `echo effect >> effects; echo pid $$; sleep 1; touch marked; exec sleep ${NAP}7513`;
      await killed({ isolation, kill: "when marked", background: true, command });
      const storage = new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
      const { messages } = await (await storage.getStore("memory"))!.listMessages({ threadId: "t" });
      await storage.close();
      const pid = /as process (\d+)/.exec(JSON.stringify(messages))![1]!;
      const look = { toolCalls: [{ toolName: "mastra_workspace_get_process_output", input: { pid } }] };
      const given = await recovered(isolation, [look]);
      expect(given).toContain(`Process ${pid} is lost`);
      expect(given).toContain("pid ");
      expect(effects()).toBe(1);
      expect(processesWith(`${NAP}7513`)).toBe(0);
    });
  },
);

describe("a process that is killed after a command was approved and before it ran", () => {
  const ON = { threadId: "t", resourceId: "r" };
  const command = "echo effect >> effects; echo said";

  it("runs it under the isolation that was shown, without another question", async () => {
    await killed({ isolation: "none", asks: true, kill: "row", when: "before", command });
    const { mastra, end } = nextProcess("none", { asks: true });
    await mastra.start();
    expect(await end()).toContain("said");
    expect(effects()).toBe(1);
  });

  it.skipIf(!hasBubblewrap)("asks again before it runs it under another isolation", async () => {
    await killed({ isolation: "bwrap", asks: true, kill: "row", when: "before", command });
    const { agent, mastra, end } = nextProcess("none", { asks: true });
    const reasons: string[] = [];
    const follow = await agent.subscribeToThread(ON);
    void (async () => {
      for await (const chunk of follow.stream)
        if (chunk.type === "tool-call-approval") reasons.push(chunk.payload.reason ?? "");
    })();
    await mastra.start();
    await expect.poll(() => reasons.at(-1)).toMatch(/have changed.*without isolation/);
    expect(effects()).toBe(0);
    await agent.sendToolApproval({ ...ON, toolCallId: "c1", approved: true });
    expect(await end()).toContain("said");
    expect(effects()).toBe(1);
    follow.unsubscribe();
  });
});
