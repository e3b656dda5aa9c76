import { join } from "node:path";
import type { WorkflowsApi } from "../adapters/types.ts";
import { heapUsed } from "../lib/heap.ts";
import { sleep } from "../lib/script.ts";
import { repeat, summarise } from "../lib/stats.ts";
import { table } from "../lib/table.ts";
import type { Case } from "./types.ts";

const LIST = ["memory", "stored", "stored 2 KB", "foreach", "open", "sleepers"];
const IDLE_MS = 5_000;

async function cpuOf(times: number, work: () => Promise<unknown>, label: string): Promise<number> {
  // Code that runs thousands of times in a process is measured when the engine has optimised it.
  const warmup = times === 1 ? 1 : Math.max(5, Math.min(50, times));
  const { cpu } = await repeat({ warmup, reps: times, maxMs: 60_000, batchMs: 40, label }, async () => {
    await work();
    return { total: 0 };
  });
  return cpu.median;
}

/** Runs of workflows in memory and in a file, by the number of their steps. The kinds have their own processes. */
export default {
  id: "m",
  title: "workflow runs: in memory, stored, opened, asleep",
  adapters: ["floor", "ours", "mastra"],
  primary: "stored.10 steps",
  variants: () => (process.env.BENCH_M ?? LIST.join()).split(","),
  async run({ loaded, scratch, smoke }) {
    if (!loaded.workflows) throw new Error("no workflows");
    const out: Record<string, number> = {};
    const variants = smoke ? LIST : [process.env.BENCH_VARIANT ?? LIST[0]!];
    const sizes = smoke ? [10] : [10, 100, 1_000];
    // A store that rewrites a whole run with each step needs minutes for a thousand steps.
    const times = (steps: number) => (smoke ? 1 : steps >= 1_000 ? 9 : steps >= 100 ? 12 : 40);
    for (const variant of variants) {
      const file = variant === "memory" ? undefined : join(scratch, `${variant.replaceAll(" ", "-")}.db`);
      const api = await loaded.workflows({ file });
      if (variant === "memory")
        for (const steps of smoke ? [10] : [10, 1_000])
          out[`memory.${steps} steps`] = await cpuOf(
            times(steps),
            await api.chain({ steps, bytes: 0 }),
            "memory",
          );
      if (variant === "stored" || variant === "stored 2 KB")
        for (const steps of sizes) {
          const bytes = variant === "stored" ? 0 : 2_048;
          out[`${variant}.${steps} steps`] = await cpuOf(
            times(steps),
            await api.chain({ steps, bytes }),
            variant,
          );
        }
      if (variant === "foreach") {
        const items = smoke ? 20 : 1_000;
        out[`foreach.${items} items`] = await cpuOf(
          times(items),
          await api.foreach({ items, concurrency: 10 }),
          variant,
        );
      }
      if (variant === "open" && api.suspended) await open(api, smoke ? 20 : 1_000, smoke ? 2 : 15, out);
      if (variant === "sleepers" && api.sleepers) await asleep(api, smoke ? 20 : 10_000, smoke, out);
      await api.close();
    }
    return out;
  },
  report(r) {
    const names = Object.keys(r);
    const keys = [...new Set(names.flatMap((name) => Object.keys(r[name]!)))];
    const floor = r["floor"];
    return table(
      ["CPU ms unless it says otherwise", ...names, "ours × floor"],
      keys.map((key) => {
        const ours = r["ours"]?.[key] as number | undefined;
        const least = floor?.[key] as number | undefined;
        const ratio = ours !== undefined && least ? ours / least : null;
        return [key, ...names.map((name) => (r[name]![key] as number) ?? null), ratio];
      }),
    );
  },
} satisfies Case;

/** Opening and resuming a long run. */
async function open(
  api: WorkflowsApi,
  steps: number,
  times: number,
  out: Record<string, number>,
): Promise<void> {
  const suspended = await api.suspended!({ steps });
  const samples = { open: [] as number[], resume: [] as number[] };
  const cpu = async (work: () => Promise<void>): Promise<number> => {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1000;
  };
  for (let i = 0; i < times; i++) {
    const runId = await suspended.start();
    samples.open.push(await cpu(() => suspended.open(runId)));
    samples.resume.push(await cpu(() => suspended.resume(runId)));
  }
  for (const [name, all] of Object.entries(samples))
    out[`${name}.${steps} steps`] = summarise(all.slice(Math.min(3, times - 1))).median;
}

async function asleep(
  api: WorkflowsApi,
  count: number,
  smoke: boolean,
  out: Record<string, number>,
): Promise<void> {
  const start = await api.sleepers!();
  for (let i = 0; i < count / 10; i++) await start();
  await sleep(smoke ? 50 : 2_000);
  const before = await heapUsed();
  for (let i = 0; i < count; i++) await start();
  await sleep(smoke ? 50 : 2_000);
  out["asleep.bytes per run"] = ((await heapUsed()) - before) / count;
  const cpu = process.cpuUsage();
  const idleMs = smoke ? 100 : IDLE_MS;
  await sleep(idleMs);
  const { user, system } = process.cpuUsage(cpu);
  out[`asleep.CPU ms per s with ${count} runs`] = (user + system) / idleMs;
}
