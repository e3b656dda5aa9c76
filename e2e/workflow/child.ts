import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";
import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core/errors";
import type { Commit } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { buildFlow } from "@selvedge/testing/simulator";
import { observedStorage } from "../kill/observed-storage.ts";
import { openStore } from "../kill/store-factory.ts";
import { kindOf } from "./commit-kinds.ts";
import { loggedOutside } from "./flow-log.ts";
import type { Answer, Command, WorkflowChildConfig } from "./protocol.ts";

// A process with workflows in it, which dies where its parent wants it to.
const config = JSON.parse(process.argv[2]!) as WorkflowChildConfig;
let left = config.kill?.nth ?? 0;

function maybeDie(point: string, when: "before" | "after"): void {
  if (config.kill?.point !== point || config.kill.when !== when || --left > 0) return;
  process.kill(process.pid, "SIGKILL");
}

function onCommit(when: "before" | "after"): (commits: readonly Commit[]) => void {
  return (commits) => {
    for (const { writes } of commits) {
      const kind = kindOf(writes);
      if (kind === undefined) continue;
      if (when === "before" && config.commits !== undefined) appendFileSync(config.commits, `${kind}\n`);
      maybeDie(kind, when);
    }
  };
}

const storage = observedStorage(await openStore(config.store), {
  beforeCommit: onCommit("before"),
  afterCommit: onCommit("after"),
});
const agents: Record<string, Agent> = {};
const outside = { ...loggedOutside(config.log, { stepMs: config.stepMs, maybeDie }), agent: makeAgent };
const workflows = Object.fromEntries(config.flows.map((flow) => [flow.id, buildFlow(flow, outside)]));
const mastra = new Mastra({
  agents,
  workflows,
  storage,
  logger: silentLogger,
  threads: { lease: config.lease },
  notifications: { dispatch: { enabled: false } },
});
process.on("message", ({ id, command }: { id: number; command: Command }) => {
  void answer(command).then((result) => process.send?.({ id, result }));
});
process.on("disconnect", () => process.exit());
await mastra.start();
process.send?.("ready");

async function answer(command: Command): Promise<Answer> {
  try {
    if (command.do === "close") {
      await mastra.close();
      process.exit();
    }
    if (command.do === "questions") {
      const lists = await Promise.all(Object.values(agents).map((agent) => agent.listSuspendedRuns()));
      return { ok: true, value: lists.reduce((sum, { total }) => sum + total, 0) };
    }
    const workflow = workflows[command.flow]!;
    if (command.do === "read") {
      const state = await workflow.getWorkflowRunById(command.runId);
      const { runs } = await workflow.listWorkflowRuns();
      const value = runs.find(({ runId }) => runId === command.runId)?.snapshot.value;
      return { ok: true, value: state && { ...state, error: plain(state.error), state: value } };
    }
    const run = await workflow.createRun({ runId: command.runId, resourceId: "user" });
    if (command.do === "start") await run.startAsync({ inputData: command.input, initialState: {} });
    if (command.do === "resume")
      await run.resumeAsync({ step: command.step, resumeData: command.resumeData });
    if (command.do === "cancel") await run.cancel();
    return { ok: true };
  } catch (error) {
    return { ok: false, code: AgentError.is(error) ? error.code : "internal", message: String(error) };
  }
}

function plain(error: unknown): unknown {
  return error instanceof Error ? { message: error.message, code: (error as { code?: string }).code } : error;
}

/** Calls a tool, which may need an approval, and says what it was asked for, with other words each time. */
function makeAgent(id: string, asks: boolean): Agent {
  const model = scriptedModel(({ prompt }) => {
    if (prompt.at(-1)?.role !== "tool")
      return { toolCalls: [{ toolName: "look", input: {}, toolCallId: `call-${randomUUID()}` }] };
    const asked = [...JSON.stringify(prompt).matchAll(/prompt (\d+)/g)].at(-1)?.[1];
    return `answer to ${asked}, ${randomUUID()}`;
  });
  const look = createTool({
    id: "look",
    description: "Looks.",
    idempotent: true,
    requireApproval: asks,
    execute: async () => ({ seen: randomUUID() }),
  });
  const memory = new Memory({ storage });
  return (agents[id] ??= new Agent({
    id,
    name: id,
    instructions: "Answer.",
    model,
    memory,
    tools: { look },
  }) as unknown as Agent);
}
