import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Mastra } from "@selvedge/core";
import { createStep, createWorkflow } from "@selvedge/core/workflows";
import { LibSQLStore } from "@selvedge/libsql";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";

const PROGRAM = fileURLToPath(new URL("./child.ts", import.meta.url));
const SECOND = 1000;

async function start(file: string): Promise<ChildProcess> {
  const args = ["--conditions=selvedge-source", "--no-warnings", PROGRAM, file];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  await once(child.stdout!, "data");
  return child;
}

it("fires each time once among processes that are killed", { timeout: 240_000 }, async () => {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "store.db");
  const storage = new LibSQLStore({ url: `file:${file}` });
  const io = { inputSchema: z.any(), outputSchema: z.any() };
  const report = createWorkflow({ id: "report", ...io })
    .then(createStep({ id: "write", ...io, execute: async () => "never here" }))
    .commit();
  // It reads, and fires nothing.
  const mastra = new Mastra({
    workflows: { report },
    storage,
    logger: false,
    threads: { recover: false },
    workflowRuns: { recover: false },
  });
  onTestFinished(() => mastra.close());
  const fires = async (id: string) =>
    (await mastra.schedules.get(id)) ? mastra.schedules.listTriggers(id, { limit: 1000 }) : [];
  const reach = (count: number) =>
    expect
      .poll(async () => Math.min((await fires("ask")).length, (await fires("wf_report")).length), {
        timeout: 120_000,
        interval: 100,
      })
      .toBeGreaterThanOrEqual(count);
  let [first, second] = await Promise.all([start(file), start(file)]);
  for (let round = 1; round <= 4; round++) {
    await reach(3 * round);
    first.kill("SIGKILL");
    await once(first, "exit");
    [first, second] = [second, await start(file)];
  }
  await reach(15);
  for (const one of [first, second]) {
    one.kill("SIGKILL");
    await once(one, "exit");
  }
  for (const id of ["ask", "wf_report"]) {
    const times = (await fires(id)).map(({ scheduledFireAt }) => scheduledFireAt);
    expect(new Set(times).size, id).toBe(times.length);
    expect(times.every((time) => time % SECOND === 0)).toBe(true);
  }
  // What was sent is what was recorded; a process that died in between leaves at most the last unrecorded.
  const memory = (await storage.getStore("memory"))!;
  const { messages } = await memory.listMessages({ threadId: "desk", perPage: false });
  const signals = messages.filter(({ role }) => role === "signal").map(({ id }) => id);
  expect(new Set(signals).size).toBe(signals.length);
  const recorded = new Set((await fires("ask")).map(({ scheduledFireAt }) => `sched_ask_${scheduledFireAt}`));
  expect([...recorded].filter((id) => !signals.includes(id))).toEqual([]);
  expect(signals.filter((id) => !recorded.has(id)).length).toBeLessThanOrEqual(1);
});
