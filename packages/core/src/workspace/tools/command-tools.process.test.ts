import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { Agent } from "../../agent/agent.ts";
import { Mastra } from "../../mastra/mastra.ts";
import { realSystem, type System } from "../../system.ts";
import type { Tool } from "../../tool/tool.ts";
import { bubblewrapMissing, nap, processesWith, sandboxIn } from "../sandbox/__fixtures__/sandbox.ts";
import { PROCESS_DOMAIN } from "../sandbox/process-domain.ts";
import { LocalSandbox, type LocalSandboxOptions } from "../sandbox/local-sandbox.ts";
import { Workspace, type WorkspaceOptions } from "../workspace.ts";

/** Seconds that no other command sleeps. */
const NAP = nap();

const missing = await bubblewrapMissing();
if (missing) console.warn(`skipped: approvals of isolated commands (scripts/ensure-bubblewrap): ${missing}`);

const ON = { memory: { thread: "t", resource: "r" } };
const RUN = "mastra_workspace_execute_command";

interface Call {
  name?: string;
  id?: string;
  [input: string]: unknown;
}

/** An agent with a store whose model makes one call per message. */
function scene(
  calls: Call[],
  { tools, ...sandboxOptions }: LocalSandboxOptions & Pick<WorkspaceOptions, "tools"> = { isolation: "none" },
) {
  const made = sandboxIn(sandboxOptions);
  const storage = new LibSQLStore({ url: ":memory:" });
  const { files: filesystem, sandbox } = made;
  const workspace = new Workspace({ filesystem, sandbox, ...(tools && { tools }) });
  const agent = new Agent({
    name: "runner",
    instructions: "Run commands.",
    model: scriptedModel(
      calls.flatMap(({ name = "execute_command", id, ...input }) => [
        { toolCalls: [{ toolName: `mastra_workspace_${name}`, input, ...(id && { toolCallId: id }) }] },
        "Done.",
      ]),
    ),
    memory: new Memory({ storage }),
    workspace,
  });
  const mastra = new Mastra({ agents: { agent }, storage, logger: false });
  onTestFinished(() => mastra.close());
  const chunks: { type: string; data?: any; payload?: any }[] = [];
  /** Sends a message, and answers with the result of its call. */
  const say = async (): Promise<string> => {
    chunks.length = 0;
    const run = await agent.stream("Go.", ON);
    for await (const chunk of run.fullStream) chunks.push(chunk as never);
    const said = chunks.find(({ type }) => type === "tool-result" || type === "tool-error");
    return String(said?.payload?.result ?? said?.payload?.error?.message ?? "");
  };
  return { ...made, workspace, agent, mastra, storage, chunks, say };
}

/** What output could be kept in, without what the collector has not taken yet. */
function memory(): number {
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

function collect(): void {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
}

const FREE = { [RUN]: { requireApproval: false } };

describe("execute_command", () => {
  it("shows output and exit code, and the thread has the command, its output and its end", async () => {
    const { say, chunks, storage } = scene([{ command: "echo out; echo err >&2; exit 4" }], {
      isolation: "none",
      tools: FREE,
    });
    expect(await say()).toMatch(/^(out\nerr|err\nout)\nExit code: 4$/);
    const data = chunks.filter(({ type }) => type.startsWith("data-"));
    expect(data.map(({ type }) => type).toSorted()).toEqual([
      "data-sandbox-command",
      "data-sandbox-exit",
      "data-sandbox-stderr",
      "data-sandbox-stdout",
      "data-workspace-metadata",
    ]);
    expect(data.find(({ type }) => type === "data-sandbox-stdout")?.data).toMatchObject({ output: "out\n" });
    expect(data.find(({ type }) => type === "data-sandbox-exit")?.data).toMatchObject({
      exitCode: 4,
      success: false,
    });
    const { messages } = await (await storage.getStore("memory"))!.listMessages({ threadId: "t" });
    const stored = messages.flatMap(({ content }) => content.parts.map(({ type }) => type));
    expect(stored).toContain("data-sandbox-command");
    expect(stored).toContain("data-sandbox-exit");
    expect(stored).not.toContain("data-sandbox-stdout");
  });

  it("asks for approval without isolation, and the card says so; the command runs as it was approved", async () => {
    const command = "printf '%s' 'a\\tb  ü' > ran; # | tail -3";
    const { say, chunks, agent, root } = scene([{ command, id: "c1" }]);
    await say();
    const asked = chunks.find(({ type }) => type === "tool-call-approval")?.payload;
    expect(asked).toMatchObject({ args: { command }, reason: expect.stringContaining("without isolation") });
    expect(existsSync(join(root, "ran"))).toBe(false);
    const { runId } = await agent.sendToolApproval({
      threadId: "t",
      resourceId: "r",
      toolCallId: "c1",
      approved: true,
    });
    expect(runId).toBeTruthy();
    await expect.poll(() => existsSync(join(root, "ran"))).toBe(true);
    await expect.poll(() => readFileSync(join(root, "ran"), "utf8")).toBe("a\\tb  ü");
  });

  it.skipIf(missing)(
    "runs in isolation without asking, and asks for more access, whatever the configuration says",
    async () => {
      const { say, chunks, workspace } = scene(
        [
          { command: "echo hi" },
          { command: "echo hi", access: "network", reason: "to fetch a package" },
          { command: "echo hi", access: "host", reason: "because" },
        ],
        { isolation: "auto", tools: FREE },
      );
      expect(await workspace.getInfo()).toMatchObject({ sandbox: { isolation: "bwrap", network: false } });
      expect(await workspace.getInstructionsAsync()).toContain("Commands run in bubblewrap, without network");
      expect(await say()).toBe("hi");
      await say();
      const asked = () => chunks.find(({ type }) => type === "tool-call-approval")?.payload.reason;
      expect(asked()).toBe(
        "Asks for network access: to fetch a package. Commands run in bubblewrap, with network: they can only write in the working directory.",
      );
    },
  );

  it.skipIf(missing)(
    "asks again if the isolation is another one when an approved command is run",
    async () => {
      const { root, outside } = sandboxIn();
      /** A process on a machine with this isolation. */
      const machine = (isolation: "bwrap" | "none", script: Script) => {
        const storage = new LibSQLStore({ url: `file:${join(outside, "store.db")}` });
        const sandbox = new LocalSandbox({ workingDirectory: root, isolation, logger: false });
        const agent = new Agent({
          name: "runner",
          instructions: "Run commands.",
          model: scriptedModel(script),
          memory: new Memory({ storage }),
          workspace: new Workspace({ sandbox, tools: { [RUN]: { requireApproval: true } } }),
        });
        const mastra = new Mastra({ agents: { agent }, storage, logger: false });
        onTestFinished(async () => {
          await mastra.close();
          await sandbox.destroy();
        });
        return { agent, mastra };
      };
      const first = machine("bwrap", [
        { toolCalls: [{ toolName: RUN, toolCallId: "c1", input: { command: "echo x >> ran" } }] },
      ]);
      const asked: string[] = [];
      for await (const chunk of (await first.agent.stream("Go.", ON)).fullStream)
        if (chunk.type === "tool-call-approval") asked.push(chunk.payload.reason ?? "");
      await first.mastra.close();

      const { agent } = machine("none", ["Done.", "Done again."]);
      const follow = await agent.subscribeToThread({ threadId: "t", resourceId: "r" });
      onTestFinished(() => follow.unsubscribe());
      const types: string[] = [];
      void (async () => {
        for await (const chunk of follow.stream) {
          types.push(chunk.type);
          if (chunk.type === "tool-call-approval") asked.push(chunk.payload.reason ?? "");
        }
      })();
      const approve = () =>
        agent.sendToolApproval({ threadId: "t", resourceId: "r", toolCallId: "c1", approved: true });
      await approve();
      await expect.poll(() => asked.at(-1)).toContain("have changed");
      expect(asked[0]).toContain("bubblewrap");
      expect(asked.at(-1)).toContain("without isolation");
      expect(existsSync(join(root, "ran"))).toBe(false);
      await expect
        .poll(() =>
          approve().then(
            () => true,
            () => false,
          ),
        )
        .toBe(true);
      await expect.poll(() => types.includes("tool-result")).toBe(true);
      expect(readFileSync(join(root, "ran"), "utf8")).toBe("x\n");
    },
  );

  it("needs a reason for more access", async () => {
    const { workspace } = scene([], { isolation: "none" });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const call = tools[RUN]!.execute({ context: { command: "true", access: "host" } });
    await expect(call).rejects.toThrow('access: "host" needs a reason');
  });

  it("shows the beginning and the end of a long output, and read_file shows the rest", async () => {
    const { say } = scene(
      [
        { command: "seq 1 20000", id: "big" },
        { name: "read_file", path: ".selvedge/output/big", offset: 5000, limit: 2, showLineNumbers: false },
        { command: "seq 1 20000", tail: 3 },
        { command: "seq 1 1000000" },
      ],
      { isolation: "none", tools: FREE },
    );
    const shown = await say();
    expect(shown).toMatch(/^1\n2\n/);
    expect(shown).toContain("19,800 lines left out");
    expect(shown).toContain("\n20000\nThe whole output is in .selvedge/output/big");
    expect(await say()).toContain("\n5000\n5001");
    expect(await say()).toMatch(/^… 19,997 lines left out …\n19998\n19999\n20000\nThe whole output is in /);
    expect(await say()).toMatch(/ lines and [\d,]+ bytes left out …\n/);
  });

  it("runs each time, even if a model repeats the id of a call", async () => {
    const { agent, root } = scene([], { isolation: "none", tools: FREE });
    const again = { toolCalls: [{ toolName: RUN, toolCallId: "same", input: { command: "echo x >> ran" } }] };
    await agent.generate("Go.", { ...ON, model: scriptedModel([again, again, "Done."]) });
    expect(readFileSync(join(root, "ran"), "utf8")).toBe("x\nx\n");
  });

  it("is killed after its timeout, and with its run", async () => {
    const { say, agent } = scene(
      [{ command: `echo before; sleep ${NAP}7551`, timeout: 0.5 }, { command: `sleep ${NAP}7552` }],
      { isolation: "none", tools: FREE },
    );
    expect(await say()).toBe("before\nExit code: 143 (killed after 0.5 s)");
    expect(processesWith(`${NAP}7551`)).toBe(0);
    const controller = new AbortController();
    const run = await agent.stream("Go.", { ...ON, abortSignal: controller.signal });
    void run.consumeStream();
    await expect.poll(() => processesWith(`sleep\u0000${NAP}7552`)).toBe(1);
    controller.abort();
    await expect.poll(() => processesWith(`${NAP}7552`)).toBe(0);
  });

  it("continues in the background when it takes longer than two minutes", async () => {
    const { sandbox } = sandboxIn({ isolation: "none" });
    let hurries = 0;
    const hurried: System = {
      ...realSystem,
      setTimer: (ms, ...rest) => realSystem.setTimer(ms === 120_000 && hurries++ === 0 ? 500 : ms, ...rest),
    };
    const workspace = new Workspace({ sandbox, system: hurried });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    expect(Object.keys(tools).map((name) => name.replace("mastra_workspace_", ""))).toEqual([
      "execute_command",
      "get_process_output",
      "kill_process",
    ]);
    const said = String(
      await tools[RUN]!.execute({
        context: { command: "echo first; while [ ! -e go ]; do sleep 0.02; done; echo last" },
      }),
    );
    expect(said).toMatch(/^first\nThe command is still running after 120 s\./);
    const pid = /process (\d+)/.exec(said)![1]!;
    await sandbox.executeCommand("touch go");
    const context = { pid, wait: true };
    expect(await tools["mastra_workspace_get_process_output"]!.execute({ context })).toBe(
      `Process ${pid} exited with code 0.\nfirst\nlast`,
    );
  });

  it("needs no more memory for more output", async () => {
    const { sandbox } = sandboxIn({ isolation: "none" });
    const workspace = new Workspace({ sandbox });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const write = (bytes: number) =>
      tools[RUN]!.execute({ context: { command: `head -c ${bytes} /dev/zero | tr '\\0' 'x'` } });
    await write(20_000_000);
    let most = 0;
    const before = memory();
    // A collection may take longer than a tenth of a second.
    const timer = setInterval(() => (most = Math.max(most, memory())), 500);
    await write(100_000_000);
    clearInterval(timer);
    expect(most - before).toBeLessThan(32 << 20);
  });

  it.each([true, false])("never waits for a reader (with a thread: %s)", async (isStored) => {
    const command = "seq 1 1000000; touch written";
    const { agent, root } = scene([{ command }], { isolation: "none", tools: FREE });
    const run = await agent.stream("Go.", isStored ? ON : {});
    const reader = run.fullStream[Symbol.asyncIterator]();
    await reader.next();
    await expect.poll(() => existsSync(join(root, "written"))).toBe(true);
    await reader.return?.();
  });

  it("emits a bounded part of what it writes, and keeps ten megabytes", async () => {
    const { say, chunks, storage } = scene(
      [{ command: "head -c 30000000 /dev/zero | tr '\\0' 'x'", id: "big" }],
      {
        isolation: "none",
        tools: FREE,
      },
    );
    await say();
    const pieces = chunks.filter(({ type }) => type === "data-sandbox-stdout");
    const emitted = pieces.reduce((sum, { data }) => sum + data.output.length, 0);
    expect(emitted).toBeLessThan(300 * 1024);
    const processes = await storage.domain(PROCESS_DOMAIN);
    const kept = await processes.output((await processes.findLast("t", { tool_call_id: "big" }))!);
    expect(kept.length).toBeGreaterThan(9 << 20);
    expect(kept.length).toBeLessThan((10 << 20) + 100);
    expect(kept).toContain("bytes left out …");
  });
});

describe("a background process", () => {
  it("goes on after its call, is read and killed by later calls, and ends with the workspace", async () => {
    const exits: unknown[] = [];
    const onExit = (exit: unknown) => exits.push(exit);
    const { root, workspace } = scene([], {
      isolation: "none",
      tools: { [RUN]: { requireApproval: false, backgroundProcesses: { onExit } } },
    });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const call = (name: string, context: object) => tools[`mastra_workspace_${name}`]!.execute({ context });
    const command = `echo one; while [ ! -e go ]; do sleep 0.02; done; echo two; sleep ${NAP}7541`;
    const started = String(await call("execute_command", { command, background: true }));
    const pid = /process (\d+)/.exec(started)![1]!;
    await expect.poll(() => call("get_process_output", { pid })).toBe(`Process ${pid} is running.\none`);
    await workspace.sandbox!.executeCommand!("touch go");
    await expect.poll(() => call("get_process_output", { pid, tail: 1 })).toContain("two");
    expect(await call("kill_process", { pid })).toBe(`Process ${pid} was killed.\none\ntwo`);
    expect(await call("get_process_output", { pid })).toContain("exited with code 143");
    expect(exits).toEqual([{ pid, exitCode: 143, success: false }]);
    await expect(call("get_process_output", { pid: "1" })).rejects.toThrow('This thread has no process "1"');
    await call("execute_command", { command: `sleep ${NAP}7542`, background: true });
    await expect.poll(() => processesWith(`sleep ${NAP}7542`)).toBe(1);
    await workspace.stop();
    expect(processesWith(`${NAP}754`)).toBe(0);
    expect(readdirSync(root)).toEqual(["go"]);
  });

  it("belongs to its thread: another thread cannot see it, and deleting the thread ends it", async () => {
    const { agent, say, storage } = scene([{ command: `sleep ${NAP}7531`, background: true }], {
      isolation: "none",
      tools: FREE,
    });
    const pid = /process (\d+)/.exec(await say())![1]!;
    const other = new Agent({
      name: "other",
      instructions: "",
      model: scriptedModel([
        { toolCalls: [{ toolName: "mastra_workspace_get_process_output", input: { pid } }] },
        "Done.",
      ]),
      memory: new Memory({ storage }),
      workspace: (agent.configuration as { workspace: Workspace }).workspace,
    });
    const { steps } = await other.generate("Go.", { memory: { thread: "u", resource: "r2" } });
    expect(JSON.stringify(steps)).toContain("This thread has no process");
    await expect.poll(() => processesWith(`sleep ${NAP}7531`)).toBe(1);
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    await expect.poll(() => processesWith(`${NAP}7531`)).toBe(0);
    await other.close();
  });

  it("belongs to its run without a thread: another run cannot see or kill it", async () => {
    const { files: filesystem, sandbox } = sandboxIn({ isolation: "none" });
    const workspace = new Workspace({ filesystem, sandbox, tools: FREE });
    const results = async (...calls: [string, object][]): Promise<string> => {
      const script = calls.map(([name, input]) => ({
        toolCalls: [{ toolName: `mastra_workspace_${name}`, input }],
      }));
      const model = scriptedModel([...script, "Done."]);
      const agent = new Agent({ name: "runner", instructions: "", model, workspace });
      await agent.generate("Go.");
      return JSON.stringify(model.calls.at(-1)!.prompt);
    };
    const command = `echo mine; sleep ${NAP}9`;
    const started = await results(["execute_command", { command, background: true }]);
    const pid = /as process (\d+)/.exec(started)![1]!;
    const said = await results(["get_process_output", { pid }], ["kill_process", { pid }]);
    expect(said).toContain("This thread has no process");
    expect(said).not.toMatch(/mine|was killed/);
    expect(processesWith(`${NAP}9`)).toBeGreaterThan(0);
    await workspace.destroy();
    expect(processesWith(`${NAP}9`)).toBe(0);
  });

  it("notifies its thread when it ends", async () => {
    const { say, storage } = scene([{ command: "sleep 0.2; exit 5", background: true }], {
      isolation: "none",
      tools: { [RUN]: { requireApproval: false, backgroundProcesses: { notifyOnExit: true } } },
    });
    const pid = /process (\d+)/.exec(await say())![1]!;
    const domain = (await storage.getStore("notifications"))!;
    await expect
      .poll(async () => domain.listNotifications({ threadId: "t", resourceId: "r" } as never))
      .toMatchObject([
        {
          source: "workspace",
          kind: "process-exit",
          summary: expect.stringContaining(`process ${pid} exited with code 5`),
        },
      ]);
  });

  it("is one of at most 16 of its thread", async () => {
    const { workspace } = scene([], { isolation: "none", tools: FREE });
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const start = () =>
      tools[RUN]!.execute({ context: { command: `exec sleep ${NAP}7521`, background: true } });
    await Promise.all(Array.from({ length: 16 }, start));
    await expect(start()).rejects.toThrow("16 background processes are already running on this thread");
    await workspace.destroy();
    expect(processesWith(`${NAP}7521`)).toBe(0);
  });
});
