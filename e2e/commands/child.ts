import { existsSync } from "node:fs";
import { Agent } from "@selvedge/core/agent";
import type { CommitOptions, CommitResult, Write } from "@selvedge/core/storage";
import { LocalFilesystem, LocalSandbox, Workspace } from "@selvedge/core/workspace";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

export interface ChildConfig {
  file: string;
  /** The workspace. */
  root: string;
  isolation: "none" | "bwrap";
  command: string;
  background: boolean;
  /** The command is approved before it runs. */
  asks: boolean;
  /** Where it kills itself; without one it only starts the command. */
  kill: keyof typeof COMMITS | "when marked";
  when: "before" | "after";
  nth: number;
}

/** The commits in the life of a command. */
const COMMITS = {
  row: (write: Write) => write.op === "insert" && write.table.name === "selvedge_workspace_processes",
  output: (write: Write) => write.op === "insert" && write.table.name === "selvedge_workspace_output",
  exit: (write: Write) => write.op === "update" && write.set?.["state"] === "exited",
} as const;

const config = JSON.parse(process.argv[2]!) as ChildConfig;
const die = (): unknown => process.kill(process.pid, "SIGKILL");
let seen = 0;

class KilledStore extends LibSQLStore {
  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { kill, nth, when } = config;
    const isHere = kill !== "when marked" && writes.some(COMMITS[kill]) && ++seen === nth;
    if (isHere && when === "before") die();
    const result = await super.commit(writes, options);
    if (isHere) die();
    return result;
  }
}

const { command, background, root: basePath, isolation } = config;
const agent = new Agent({
  name: "runner",
  instructions: "Run commands.",
  model: scriptedModel(({ index }) => {
    if (index > 0) return new Promise<never>(() => {});
    const input = { command, ...(background && { background }) };
    return { toolCalls: [{ toolName: "mastra_workspace_execute_command", toolCallId: "c1", input }] };
  }),
  memory: new Memory({ storage: new KilledStore({ url: `file:${config.file}` }) }),
  workspace: new Workspace({
    filesystem: new LocalFilesystem({ basePath }),
    sandbox: new LocalSandbox({ workingDirectory: basePath, isolation, logger: false }),
    tools: { mastra_workspace_execute_command: { requireApproval: config.asks } },
  }),
});
if (config.kill === "when marked")
  setInterval(() => {
    if (existsSync(`${basePath}/marked`)) die();
  }, 5);
const thread = { threadId: "t", resourceId: "r" };
if (config.asks) {
  const { stream } = await agent.subscribeToThread(thread);
  void (async () => {
    for await (const { type } of stream)
      if (type === "tool-call-approval")
        await agent.sendToolApproval({ ...thread, toolCallId: "c1", approved: true });
  })();
}
await agent.sendMessage("go", thread).admitted;
