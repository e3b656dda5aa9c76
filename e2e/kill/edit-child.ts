import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { Commit } from "@selvedge/core/storage";
import { type EditConfig, type EditPoint, type EditRound, editScript, THREAD } from "./edit-round.ts";
import { isPoint } from "./kill-points.ts";
import { observedStorage } from "./observed-storage.ts";
import { openStore } from "./store-factory.ts";

// A process with an agent that changes files, and that dies at a named point.
const config = JSON.parse(process.argv[2]!) as EditConfig;
let kill: EditPoint | undefined;

function maybeDie(name: EditPoint["name"], when: "before" | "after"): void {
  if (kill?.name === name && kill.when === when && --kill.nth === 0) process.kill(process.pid, "SIGKILL");
}

/** The operations that make a change visible. Only the workspace uses paths of open handles. */
for (const name of ["renameSync", "unlinkSync", "rmdirSync", "mkdirSync"] as const) {
  const real = fs[name] as (...args: unknown[]) => unknown;
  (fs as Record<string, unknown>)[name] = (...args: unknown[]) => {
    const isChange =
      String(args[0]).startsWith("/proc/self/fd/") &&
      (name === "renameSync" || !String(args[0]).endsWith(".tmp"));
    if (isChange) maybeDie("act", "before");
    const result = real(...args);
    if (isChange) maybeDie("act", "after");
    return result;
  };
}
syncBuiltinESMExports();

const { Agent } = await import("@selvedge/core/agent");
const { Mastra, silentLogger } = await import("@selvedge/core");
const { LocalFilesystem, Workspace } = await import("@selvedge/core/workspace");
const { Memory } = await import("@selvedge/memory");
const { scriptedModel } = await import("@selvedge/testing");

const onCommit =
  (when: "before" | "after") =>
  (commits: readonly Commit[]): void => {
    if (!kill || kill.name === "act") return;
    const { name } = kill;
    if (commits.some(({ writes }) => isPoint(name, writes))) maybeDie(name, when);
  };

const storage = observedStorage(await openStore(config.store), {
  beforeCommit: onCommit("before"),
  afterCommit: onCommit("after"),
});
const agent = new Agent({
  id: "agent",
  name: "Agent",
  instructions: "Change files.",
  model: scriptedModel(({ prompt }) => editScript(prompt)),
  memory: new Memory({ storage, options: { lastMessages: 3 } }),
  workspace: new Workspace({
    filesystem: new LocalFilesystem({ basePath: config.root }),
    tools: { mastra_workspace_delete: { requireApproval: false } },
  }),
  defaultOptions: { maxSteps: 20 },
});
const mastra = new Mastra({ agents: { agent }, storage, logger: silentLogger });
await mastra.start();
process.on("message", ({ round, kill: point }: EditRound) => {
  kill = point;
  void agent.sendMessage(`round ${round}`, THREAD).admitted;
});
process.on("disconnect", () => process.exit());
process.send?.("ready");
