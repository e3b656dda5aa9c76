import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { now, summarise } from "../lib/stats.ts";
import { table } from "../lib/table.ts";
import type { Case } from "./types.ts";

type Run = (command: string) => Promise<unknown>;

/** The floor: a shell whose output is read and counted. */
const bare =
  (cwd: string): Run =>
  (command) =>
    new Promise<number>((resolve) => {
      const child = spawn("/bin/sh", ["-c", command], { cwd, stdio: ["ignore", "pipe", "pipe"] });
      let bytes = 0;
      child.stdout.on("data", (piece: Buffer) => (bytes += piece.length));
      child.on("close", () => resolve(bytes));
    });

/** Starting a command, and reading its output, beside `spawn`. The kinds alternate: all meet the same machine. */
export default {
  id: "k",
  title: "commands of a workspace beside spawn",
  adapters: ["ours"],
  async run({ loaded, scratch, smoke }) {
    if (!loaded.sandbox) throw new Error("no sandbox");
    const runs: Record<string, Run> = { spawn: bare(scratch) };
    for (const isolation of ["none", "bwrap"] as const) {
      const run = await loaded.sandbox({ isolation, workingDirectory: scratch }).catch(() => undefined);
      if (run) runs[isolation] = run;
    }
    const out: Record<string, number> = {};
    const measure = async (name: string, command: string, times: number): Promise<void> => {
      const samples: Record<string, number[]> = {};
      for (let round = 0; round < times; round++) {
        for (const [kind, run] of Object.entries(runs)) {
          const start = now();
          await run(command);
          (samples[kind] ??= []).push(now() - start);
        }
      }
      const floor = samples["spawn"]!;
      for (const [kind, all] of Object.entries(samples)) {
        out[`${name}.${kind}`] = summarise(all).median;
        out[`${name}.${kind}.best`] = Math.min(...all);
        out[`${name}.${kind}.ratio`] = summarise(all.map((one, round) => one / floor[round]!)).median;
      }
    };
    await measure("start", "true", smoke ? 3 : 100);
    const megabytes = smoke ? 1 : 100;
    writeFileSync(join(scratch, "big"), Buffer.alloc(megabytes << 20, "a line of output\n"));
    await measure(`cat ${megabytes} MiB`, "cat big", smoke ? 2 : 15);
    return out;
  },
  report(r) {
    const names = Object.keys(r);
    const keys = [...new Set(names.flatMap((name) => Object.keys(r[name]!)))];
    return table(
      ["metric (ms)", ...names],
      keys.map((key) => [key, ...names.map((name) => r[name]![key] as number)]),
    );
  },
} satisfies Case;
