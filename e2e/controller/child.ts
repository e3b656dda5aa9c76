import { appendFileSync } from "node:fs";
import { Agent } from "@selvedge/core/agent";
import { AgentController, type AgentControllerEvent } from "@selvedge/core/agent-controller";
import type { CommitOptions, CommitResult, Write } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { isPoint, type KillAt } from "./kill-points.ts";
import { plain } from "./plain.ts";

export interface ChildConfig {
  file: string;
  marks: string;
  kill?: KillAt;
}

/** A process with a controller in it. It is killed at the commit that it was told, and obeys its parent until then. */
const config = JSON.parse(process.argv[2]!) as ChildConfig;

/** Opening a session changes its state, too: that kill is for later. */
let armed = config.kill?.point !== "state";
let left = config.kill?.nth ?? 1;

function die(): void {
  process.kill(process.pid, "SIGKILL");
}

class KilledStore extends LibSQLStore {
  override async commit(writes: readonly Write[], options?: CommitOptions): Promise<CommitResult> {
    const { kill } = config;
    const isHere = kill !== undefined && armed && isPoint(kill.point, writes) && --left === 0;
    if (isHere && kill.when === "before") die();
    const result = await super.commit(writes, options);
    if (isHere) die();
    return result;
  }
}

const asks = (toolName: string, input: object, toolCallId: string) => ({
  toolCalls: [{ toolName, input, toolCallId }],
});

/** Says the next thing, whoever asks: it goes by the conversation alone. */
const model = scriptedModel(({ prompt }) => {
  const said = JSON.stringify(prompt);
  const asked = JSON.stringify(prompt.findLast(({ role }) => role === "user")?.content);
  const answered = (id: string) =>
    said.includes(`"tool-result","toolCallId":"${id}"`) || said.includes(`"toolCallId":"${id}","toolName"`);
  const isSubagent = asked.includes("Task: ");
  if (isSubagent && config.kill?.point === "model of a subagent" && --left === 0) die();
  if (asked.includes("Task: fork")) return answered("f2") ? "Forked." : asks("write", { n: 4 }, "f2");
  if (asked.includes("Task: consult"))
    return answered("c2") ? "Consulted." : asks("ask_user", { question: "Which?" }, "c2");
  if (said.includes("please fork"))
    return answered("f1")
      ? "The fork is back."
      : asks("subagent", { agentType: "helper", task: "Task: fork", forked: true }, "f1");
  if (said.includes("please consult"))
    return answered("c1")
      ? "The consultant is back."
      : asks("subagent", { agentType: "helper", task: "Task: consult" }, "c1");
  if (said.includes("please ask"))
    return answered("q1") ? "Asked." : asks("ask_user", { question: "What?" }, "q1");
  if (said.includes("You are the helper.")) return answered("h1") ? "Helped." : asks("write", { n: 3 }, "h1");
  if (said.includes("please delegate"))
    return answered("d1") ? "Delegated." : asks("subagent", { agentType: "helper", task: "Help" }, "d1");
  if (said.includes("please write")) {
    if (!answered("w1")) return asks("write", { n: 1 }, "w1");
    return answered("w2") ? "Written twice." : asks("write", { n: 2 }, "w2");
  }
  if (said.includes("please plan")) {
    if (!answered("t1"))
      return asks(
        "task_write",
        { tasks: [{ content: "Warp", status: "pending", activeForm: "Warping" }] },
        "t1",
      );
    return answered("p1")
      ? `Planned in ${said.includes("Build now.") ? "build" : "plan"}.`
      : asks("submit_plan", { plan: "Weave" }, "p1");
  }
  return "Hello.";
});

const write = createTool({
  id: "write",
  description: "Writes.",
  execute: async (_input, { toolCallId }) => {
    appendFileSync(config.marks, `${toolCallId}\n`);
    return "written";
  },
});

const storage = new KilledStore({ url: `file:${config.file}` });
const lease = { leaseMs: 500, renewMs: 100 };
const controller = new AgentController({
  id: "loom",
  storage,
  agent: new Agent({ name: "weaver", instructions: "Weave.", model, tools: { write } }) as unknown as Agent,
  modes: [
    { id: "plan", metadata: { default: true }, transitionsTo: "build", instructions: "Plan first." },
    { id: "build", instructions: "Build now." },
  ],
  subagents: [
    {
      id: "helper",
      name: "Helper",
      description: "Helps.",
      instructions: "You are the helper.",
      tools: { write },
      allowedAgentControllerTools: ["ask_user"],
    },
  ],
  memory: new Memory({ storage }),
  toolCategoryResolver: (name) => (name === "write" ? "edit" : null),
  threads: { lease },
});

const session = await controller.createSession({ id: "s", ownerId: "o" });
session.subscribe((event: AgentControllerEvent) => {
  if (event.type === "error") process.send?.({ error: event.error.message });
});

process.on("message", (command: { id: number; do: string; count?: number }) => void obey(command));
process.on("disconnect", () => process.exit());
armed = true;
process.send?.({ ready: true });

async function obey({ id, do: what, count = 0 }: { id: number; do: string; count?: number }): Promise<void> {
  try {
    process.send?.({ id, ok: true, value: await act(what, count) });
  } catch (error) {
    process.send?.({ id, ok: false, message: String(error) });
  }
}

/** What the threads of subagents were told. */
async function children(): Promise<string[][]> {
  const threads = await session.thread.list({ includeForkedSubagents: true });
  const hidden = threads.filter(({ metadata }) => metadata?.["subagent"] === true);
  return Promise.all(
    hidden.map(async ({ id }) => {
      const messages = await session.thread.listMessages({ threadId: id });
      const said = messages.flatMap(({ role, content }) => (role === "user" ? content : []));
      return said.flatMap((part) => (part.type === "text" ? part.text : []));
    }),
  );
}

async function act(what: string, count: number): Promise<unknown> {
  if (["write", "plan", "delegate", "fork", "consult", "ask"].includes(what))
    return session.sendMessage({ content: `please ${what}` });
  if (what === "steer") return session.steer({ content: `please ${what}` });
  if (what === "queue") return session.followUp({ content: "hello later" });
  if (what === "always") return session.respondToToolApproval({ decision: "always_allow_category" });
  if (what === "approve plan") return session.respondToToolSuspension({ resumeData: { action: "approved" } });
  if (what === "reply") return session.respondToToolSuspension({ resumeData: "This one." });
  if (what === "increment")
    for (let done = 0; done < count; done++)
      await session.state.update((state) => ({ updates: { count: Number(state["count"] ?? 0) + 1 } }));
  const { pendingApproval, pendingSuspensions, isRunning, tasks, tokenUsage } = session.displayState.get();
  return {
    waiting: pendingApproval?.toolCallId ?? pendingSuspensions.keys().next().value ?? null,
    isRunning,
    runId: session.run.getRunId(),
    queued: session.followUps.count(),
    mode: session.mode.get(),
    grants: session.getGrants(),
    state: (await session.core.refresh()).state,
    tasks,
    tokens: tokenUsage.totalTokens,
    messages: await session.thread.listActiveMessages(),
    children: await children(),
    display: plain(session.displayState.get()),
  };
}
