import { join } from "node:path";
import type { ObservingApi } from "../adapters/types.ts";
import { compare } from "../lib/compare.ts";
import { heapUsed } from "../lib/heap.ts";
import { type ModelSpec, sleep, textScript, toolLoopScript } from "../lib/script.ts";
import { now, summarise } from "../lib/stats.ts";
import { table } from "../lib/table.ts";
import type { Case } from "./types.ts";

const STEPS = 10;
const SAID = "the quick brown fox jumps over the lazy dog ".repeat(4);
/** No interval passes while turns are timed, so that turns of one kind differ only in their past. */
const ROOMY = { observation: { messageTokens: 200_000, bufferTokens: 100_000 } };

/** What observational memory adds to a turn, how much of a prompt a cache can serve, and what waiting work costs. */
export default {
  id: "j",
  title: "observational memory, and processors of a stream",
  adapters: ["ours"],
  async run({ loaded, scratch, smoke }) {
    if (!loaded.observing || !loaded.processed) throw new Error("no observational memory");
    const out: Record<string, number> = {};
    const file = (name: string): string => join(scratch, `${name}.db`);
    const reply: ModelSpec = { script: textScript(5) };
    const [rounds, block] = smoke ? [1, 2] : [21, 10];
    const turns = async (api: ObservingApi, threadId: string, count: number): Promise<void> => {
      for (let i = 0; i < count; i++) await api.turn(threadId, `${SAID}${i}`);
    };

    // Turns: early and late on a thread, with and without. All windows have the same size.
    {
      const on = await loaded.observing({ model: reply, file: file("on"), om: ROOMY });
      const off = await loaded.observing({ model: reply, file: file("off") });
      const past = smoke ? 200 : 10_000;
      await on.seed("late", past);
      await on.observe("late");
      const window = smoke ? 2 : 50;
      // Each comparison has its own threads, so that both sides always have windows of one size.
      for (const threadId of ["late", "early", "on"]) await turns(on, threadId, window);
      await turns(off, "off", window);
      const late = await compare(
        rounds,
        block,
        () => on.turn("early", SAID),
        () => on.turn("late", SAID),
      );
      out["turn.early.cpu"] = late.first;
      out["turn.late.cpu"] = late.second;
      out["turn.late:early"] = late.ratio;
      const without = await compare(
        rounds,
        block,
        () => off.turn("off", SAID),
        () => on.turn("on", SAID),
      );
      out["turn.off.cpu"] = without.first;
      out["turn.on.cpu"] = without.second;
      out["turn.on:off"] = without.ratio;
      await Promise.all([on.close(), off.close()]);
    }

    // Calls of the store, by the step.
    {
      const loop: ModelSpec = { script: toolLoopScript(STEPS) };
      const perRun = async (om?: object): Promise<{ reads: number; commits: number }> => {
        const api = await loaded.observing!({
          model: loop,
          file: file(om ? "calls-on" : "calls-off"),
          tools: true,
          ...(om && { om }),
        });
        await turns(api, "t", 3);
        await sleep(100);
        const { reads, commits } = api.calls;
        await turns(api, "t", 1);
        const spent = { reads: api.calls.reads - reads, commits: api.calls.commits - commits };
        await api.close();
        return spent;
      };
      const [without, withOm] = [await perRun(), await perRun(ROOMY)];
      out["extra reads per step"] = (withOm.reads - without.reads) / (STEPS + 1);
      out["extra commits per step"] = (withOm.commits - without.commits) / (STEPS + 1);
    }

    // The prefix that a provider can cache.
    {
      let before = "";
      let log = 0;
      const sum = { all: 0, equal: 0, between: 0, betweenEqual: 0, activations: 0 };
      const onCall = (prompt: any): void => {
        const text = prompt.map((message: unknown) => JSON.stringify(message)).join("\n");
        let equal = 0;
        while (equal < before.length && text[equal] === before[equal]) equal++;
        const notes = prompt.filter(({ role }: { role: string }) => role === "system").length;
        sum.all += text.length;
        sum.equal += equal;
        if (notes === log) {
          sum.between += text.length;
          sum.betweenEqual += equal;
        } else sum.activations++;
        log = notes;
        before = text;
      };
      const api = await loaded.observing({
        model: { ...reply, onCall },
        file: file("prefix"),
        om: { observation: { messageTokens: 6_000 }, reflection: { observationTokens: 10_000 } },
        observer: () => ({ text: [`<observations>\n${NOTES}\n</observations>`] }),
      });
      for (let i = 0; i < (smoke ? 20 : 500); i++) {
        await api.turn("t", `${SAID}${i}`);
        await api.settled();
      }
      out["prefix.between activations.%"] = (sum.betweenEqual / sum.between) * 100;
      out["prefix.all turns.%"] = (sum.equal / sum.all) * 100;
      out["prefix.activations"] = sum.activations;
      await api.close();
    }

    // An activation, with the read of the thread before it.
    {
      const api = await loaded.observing({
        model: reply,
        file: file("activation"),
        om: { observation: { messageTokens: 100_000, bufferTokens: 50 } },
      });
      const samples: number[] = [];
      for (let i = 0; i < (smoke ? 2 : 25); i++) {
        const threadId = `a${i}`;
        while ((await api.buffered(threadId)) < 10) {
          await turns(api, threadId, 1);
          await api.settled();
        }
        const start = now();
        if (!(await api.activate(threadId))) throw new Error("nothing was activated");
        samples.push(now() - start);
      }
      const { median, min } = summarise(samples.slice(Math.min(5, samples.length - 1)));
      out["activation of 10"] = median;
      out["activation of 10.min"] = min;
      await api.close();
    }

    // Threads with waiting work, and the same threads without.
    {
      const count = smoke ? 10 : 1_000;
      const perThread = async (name: string, om: object): Promise<{ heap: number; reads: number }> => {
        const api = await loaded.observing!({
          model: reply,
          file: file(name),
          om,
          observer: () => {
            throw Object.assign(new Error("down"), { statusCode: 503 });
          },
        });
        for (let i = 0; i < count / 5; i++) await api.turn(`warm${i}`, SAID);
        // Failed attempts that are still in progress would count as memory that is freed later.
        await sleep(smoke ? 100 : 2_000);
        await api.postpone();
        await sleep(smoke ? 100 : 1_000);
        const before = await heapUsed();
        for (let i = 0; i < count; i++) await api.turn(`t${i}`, SAID);
        const waiting = await api.postpone();
        if (name === "waiting" && waiting < count) throw new Error(`only ${waiting} jobs wait`);
        await sleep(smoke ? 100 : 3_000);
        await api.postpone();
        const heap = ((await heapUsed()) - before) / count;
        const { reads } = api.calls;
        await sleep(smoke ? 100 : 6_000);
        const spent = { heap, reads: (api.calls.reads - reads) / 6 };
        await api.close();
        return spent;
      };
      const waiting = await perThread("waiting", {
        observation: { messageTokens: 10_000, bufferTokens: 10 },
      });
      const idle = await perThread("idle", ROOMY);
      out["waiting.bytes per thread"] = waiting.heap;
      out["idle.bytes per thread"] = idle.heap;
      out["waiting.reads per s"] = waiting.reads;
      out["idle.reads per s"] = idle.reads;
    }

    // 1,000 chunks through processors.
    {
      const model: ModelSpec = { script: textScript(smoke ? 100 : 1_000) };
      const plain = await loaded.processed({ model, processors: "plain" });
      const three = await loaded.processed({ model, processors: "regex, batch, limiter" });
      const cost = await compare(smoke ? 1 : 15, smoke ? 1 : 10, plain.run, three.run);
      out["processors.plain.cpu"] = cost.first;
      out["processors.regex, batch, limiter.cpu"] = cost.second;
      out["processors.ratio"] = cost.ratio;
    }
    return out;
  },
  report(r) {
    const names = Object.keys(r);
    const keys = [...new Set(names.flatMap((name) => Object.keys(r[name]!)))];
    return table(
      ["metric (ms unless it says otherwise)", ...names],
      keys.map((key) => [key, ...names.map((name) => r[name]![key] as number)]),
    );
  },
} satisfies Case;

const NOTES = Array.from(
  { length: 6 },
  (_, i) => `- 🟡 10:0${i} The user spoke of a fox and a dog again.`,
).join("\n");
