import { appendFileSync } from "node:fs";
import { Agent } from "@selvedge/core/agent";
import type { CommitOptions, CommitResult, Write } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";

export interface KillAt {
  point: keyof typeof POINTS;
  /** The first such commit, or a later one. */
  nth: number;
  when: "before" | "after";
}

export interface ChildConfig {
  file: string;
  marks: string;
  kill?: KillAt;
}

/** The commits in the life of a subagent, by what they do. */
const POINTS = {
  thread: (write: Write) => write.op === "insert" && write.table.name === "selvedge_threads",
  step: (write: Write) =>
    write.op === "insert" && write.table.name === "selvedge_messages" && write.row["role"] === "assistant",
  waiting: (write: Write) => write.op === "insert" && write.row["state"] === "waiting",
  decision: (write: Write) => write.op === "update" && write.set?.["state"] === "decided",
} as const;

/** A process with an agent and its subagent. It is killed at the commit that it was told, and obeys its parent until then. */
const config = JSON.parse(process.argv[2]!) as ChildConfig;
let seen = 0;

class KilledStore extends LibSQLStore {
  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { kill } = config;
    const isHere = kill !== undefined && writes.some(POINTS[kill.point]) && ++seen === kill.nth;
    if (isHere && kill.when === "before") process.kill(process.pid, "SIGKILL");
    const result = await super.commit(writes, options);
    if (isHere) process.kill(process.pid, "SIGKILL");
    return result;
  }
}

const storage = new KilledStore({ url: `file:${config.file}` });
const memory = new Memory({ storage });
const threads = { lease: { leaseMs: 500, renewMs: 100 } };
const asks = (toolName: string, toolCallId: string, input: object) => ({
  toolCalls: [{ toolName, toolCallId, input }],
});
const says = (prompt: unknown, words: string) => JSON.stringify(prompt).includes(words);

const danger = createTool({
  id: "danger",
  description: "Dangerous.",
  requireApproval: true,
  execute: async (_input, { toolCallId }) => {
    appendFileSync(config.marks, `${toolCallId}\n`);
    return "boom";
  },
});
const helper = new Agent({
  name: "helper",
  instructions: "Help.",
  model: scriptedModel(({ prompt }) => (says(prompt, "boom") ? "It exploded." : asks("danger", "x1", {}))),
  tools: { danger },
  memory,
  threads,
});
const parent = new Agent({
  name: "parent",
  instructions: "Delegate.",
  model: scriptedModel(({ prompt }) =>
    says(prompt, "It exploded.") ? "All done." : asks("agent-helper", "d1", { prompt: "Help" }),
  ),
  agents: { helper },
  memory,
  threads,
});

const HERE = { threadId: "t", resourceId: "r" };
await parent.recover();
process.on("message", (command: { id: number; do: string }) => void obey(command));
process.on("disconnect", () => process.exit());
process.send?.({ ready: true });

async function obey({ id, do: what }: { id: number; do: string }): Promise<void> {
  try {
    process.send?.({ id, ok: true, value: await act(what) });
  } catch (error) {
    process.send?.({ id, ok: false, message: String(error) });
  }
}

async function act(what: string): Promise<unknown> {
  if (what === "go")
    return parent.sendMessage("Go", { ...HERE, idempotencyKey: "go" }).admitted.then(({ action }) => action);
  if (what === "approve") return parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: true });
  const { runs } = await parent.listSuspendedRuns();
  const domain = (await storage.getStore("memory"))!;
  const messages = await domain.recentMessages({ threadId: "t", limit: 20 });
  return {
    waiting: runs.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId))[0] ?? null,
    left: (await helper.listSuspendedRuns()).total + runs.length,
    children: (await domain.listThreads({ includeSubagents: true })).total - 1,
    isDone: says(messages, "All done."),
  };
}
