import { join } from "node:path";
import type { SessionsApi } from "../adapters/types.ts";
import { compare } from "../lib/compare.ts";
import { heapUsed } from "../lib/heap.ts";
import { type Script, textScript } from "../lib/script.ts";
import { now, summarise } from "../lib/stats.ts";
import { table } from "../lib/table.ts";
import type { Case } from "./types.ts";

async function timed(times: number, work: () => Promise<void>): Promise<{ median: number; min: number }> {
  const samples: number[] = [];
  for (let i = 0; i < times; i++) {
    const start = now();
    await work();
    samples.push(now() - start);
  }
  return summarise(samples.slice(Math.min(5, times - 1)));
}

/** Asks for a fork; the fork and the conversation after it say one word. */
function forkScript(onCall: (call: number) => void): Script {
  let calls = 0;
  return () => {
    const call = calls++ % 3;
    onCall(call);
    if (call > 0) return { text: ["Done."] };
    const args = { agentType: "helper", task: "Help.", forked: true };
    return { tool: { id: `call_f${calls}_0`, name: "subagent", args } };
  };
}

/** What a session costs beside a bare thread of the same agent, and what opening, switching, forking and idling cost. */
export default {
  id: "i",
  title: "sessions of a controller beside bare threads",
  adapters: ["ours"],
  async run({ loaded, scratch, smoke }) {
    if (!loaded.sessions) throw new Error("no sessions");
    const out: Record<string, number> = {};
    const open = (name: string, script: Script): Promise<SessionsApi> =>
      loaded.sessions!({ model: { script }, file: join(scratch, `${name}.db`) });

    {
      const s = await open("i1", textScript(5));
      const bare = await s.bare("bare");
      const session = await s.open("turns");
      session.listen(() => {});
      const [rounds, block] = smoke ? [1, 2] : [15, 20];
      const turn = await compare(
        rounds,
        block,
        () => bare.turn("hello"),
        () => session.turn("hello"),
      );
      out["turn.bare"] = turn.first;
      out["turn.session"] = turn.second;
      out["turn.ratio"] = turn.ratio;
      const modes = await timed(smoke ? 2 : 100, () => session.switchMode());
      out["mode"] = modes.median;
      out["mode.min"] = modes.min;
      await s.close();
    }

    for (const chunks of smoke ? [100] : [1_000, 10_000]) {
      const s = await open(`i2-${chunks}`, textScript(chunks));
      const bare = await s.bare("bare");
      const session = await s.open("chunks");
      let heard = 0;
      for (const _ of [1, 2]) session.listen((type) => void (heard += type === "text" ? 1 : 0));
      const [rounds, block] = smoke ? [1, 1] : [chunks === 1_000 ? 12 : 5, chunks === 1_000 ? 5 : 1];
      const cost = await compare(
        rounds,
        block,
        () => bare.turn("go"),
        () => session.turn("go"),
      );
      if (heard < 2 * chunks) throw new Error(`two listeners heard ${heard} of ${2 * chunks} chunks`);
      out[`chunks.${chunks}.bare`] = cost.first;
      out[`chunks.${chunks}.session`] = cost.second;
      out[`chunks.${chunks}.ratio`] = cost.ratio;
      await s.close();
    }

    {
      const s = await open("i3", textScript(5));
      const messages = smoke ? 50 : 5_000;
      await s.seed("long", messages);
      const first = await s.open("opened", "long");
      await first.close();
      const opened = await timed(smoke ? 2 : 60, async () => (await s.open("opened")).close());
      out[`open.${messages}`] = opened.median;
      out[`open.${messages}.min`] = opened.min;
      await s.close();
    }

    for (const messages of smoke ? [10] : [20, 1_000]) {
      const at: number[] = [];
      const s = await open(
        `i4-${messages}`,
        forkScript((call) => (at[call] = now())),
      );
      await s.seed("parent", messages);
      const session = await s.open("forks", "parent");
      const samples: number[] = [];
      for (let i = 0; i < (smoke ? 1 : 25); i++) {
        await session.turn("fork");
        samples.push(at[1]! - at[0]!);
      }
      const { median, min } = summarise(samples.slice(Math.min(5, samples.length - 1)));
      out[`fork.${messages}`] = median;
      out[`fork.${messages}.min`] = min;
      await s.close();
    }

    {
      const s = await open("i5", textScript(5));
      for (let i = 0; i < 20; i++) await s.open(`warm-${i}`, `warm-thread-${i}`);
      const before = await heapUsed();
      const count = smoke ? 10 : 300;
      for (let i = 0; i < count; i++) await s.open(`idle-${i}`, `idle-thread-${i}`);
      out["idle.KiB"] = ((await heapUsed()) - before) / count / 1024;
      await s.close();
    }
    return out;
  },
  report(r) {
    const names = Object.keys(r);
    const keys = [...new Set(names.flatMap((name) => Object.keys(r[name]!)))];
    return table(
      ["metric (ms; turns and chunks in CPU time)", ...names],
      keys.map((key) => [key, ...names.map((name) => r[name]![key] as number)]),
    );
  },
} satisfies Case;
