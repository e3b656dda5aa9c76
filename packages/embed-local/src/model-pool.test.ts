import { realSystem, type System } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { DIMENSION } from "./load-model.ts";
import { ModelPool, type Runner } from "./model-pool.ts";
import { ModelThread } from "./model-thread.ts";

/** Answers with the length of each text, when it is let. */
class LengthRunner implements Runner {
  readonly seen: string[][] = [];
  ended = false;
  #answer: (() => void) | undefined;

  run(texts: readonly string[]): Promise<Float32Array> {
    this.seen.push([...texts]);
    const vectors = new Float32Array(texts.length * DIMENSION);
    texts.forEach((text, row) => vectors.fill(text.length, row * DIMENSION, (row + 1) * DIMENSION));
    const { promise, resolve } = Promise.withResolvers<Float32Array>();
    this.#answer = () => resolve(vectors);
    return promise;
  }

  async answer(): Promise<void> {
    this.#answer?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  end(): void {
    this.ended = true;
  }
}

function poolOf(count: number, system: System = realSystem): { pool: ModelPool; runners: LengthRunner[] } {
  const runners: LengthRunner[] = [];
  const start = (): Runner => {
    runners.push(new LengthRunner());
    return runners.at(-1)!;
  };
  return { pool: new ModelPool({ runners: count, start, system }), runners };
}

const long = (count: number, name = "x"): string[] => Array.from({ length: count }, () => name.repeat(500));

describe("ModelPool", () => {
  it("starts a runner only when there is work for it, and no more than it may", async () => {
    const { pool, runners } = poolOf(2);
    expect(await pool.embed([])).toEqual([]);
    expect(runners).toHaveLength(0);
    const one = pool.embed(["a"]);
    expect(runners).toHaveLength(1);
    await runners[0]!.answer();
    await one;
    void pool.embed(long(10));
    expect(runners).toHaveLength(2);
  });

  it("keeps the order of the texts, whatever order they are computed in", async () => {
    const { pool, runners } = poolOf(1);
    const lengths = [3, 700, 1, 20, 450, 20, 2];
    const embedding = pool.embed(lengths.map((length) => "x".repeat(length)));
    for (let batch = 0; batch < 3; batch++) await runners[0]!.answer();
    expect((await embedding).map((vector) => vector[0])).toEqual(lengths);
  });

  it("lets a question in between the batches of a library", async () => {
    const { pool, runners } = poolOf(1);
    void pool.embed(long(10_000, "l"));
    const question = pool.embed(["why?"]);
    await runners[0]!.answer();
    await runners[0]!.answer();
    expect(runners[0]!.seen).toEqual([long(1, "l"), long(1, "l"), ["why?"]]);
    await runners[0]!.answer();
    expect(await question).toHaveLength(1);
  });

  it("stops at once when it is told to, and leaves what was not begun", async () => {
    const { pool, runners } = poolOf(1);
    const abort = new AbortController();
    const embedding = pool.embed(long(5), abort.signal);
    const other = pool.embed(["other"]);
    abort.abort(new Error("enough"));
    await expect(embedding).rejects.toThrow("enough");
    await runners[0]!.answer();
    await runners[0]!.answer();
    await other;
    expect(runners[0]!.seen).toEqual([long(1), ["other"]]);
  });

  it("gives the memory back when there is nothing to do for a while", async () => {
    const timers: { ms: number; fire: () => void; background: boolean | undefined; cancelled: boolean }[] =
      [];
    const system: System = {
      ...realSystem,
      setTimer(ms, fire, options) {
        const timer = { ms, fire, background: options?.background, cancelled: false };
        timers.push(timer);
        return () => (timer.cancelled = true);
      },
    };
    const { pool, runners } = poolOf(1, system);
    for (const text of ["a", "b"]) {
      const embedding = pool.embed([text]);
      await runners[0]!.answer();
      await embedding;
    }
    expect(timers).toMatchObject([
      { ms: 60_000, background: true, cancelled: true },
      { ms: 60_000, background: true, cancelled: false },
    ]);
    timers[1]!.fire();
    expect(runners[0]!.ended).toBe(true);
    void pool.embed(["c"]);
    expect(runners).toHaveLength(2);
  });

  it.each([
    ["dies", "dying-worker.ts", "exit code 7"],
    ["does not come up", "broken-worker.ts", "cannot be loaded"],
  ])("tells all who wait when a thread %s, and starts another for the next", async (_, name, reason) => {
    const file = new URL(`./__fixtures__/${name}`, import.meta.url);
    const runners: Runner[] = [];
    const start = (): Runner => {
      runners.push(runners.length === 0 ? new ModelThread(file) : new LengthRunner());
      return runners.at(-1)!;
    };
    const pool = new ModelPool({ runners: 1, start, system: realSystem });
    const calls = await Promise.allSettled([pool.embed(long(3)), pool.embed(["a"]), pool.embed(["b"])]);
    for (const call of calls) {
      expect(call).toMatchObject({
        status: "rejected",
        reason: { code: "model-failed", message: expect.stringContaining(reason) },
      });
    }
    const next = pool.embed(["abc"]);
    await (runners[1] as LengthRunner).answer();
    expect((await next)[0]![0]).toBe(3);
  });

  it("tells all who wait when no thread can be started", async () => {
    const start = (): Runner => {
      throw new Error("no threads left");
    };
    const pool = new ModelPool({ runners: 1, start, system: realSystem });
    await expect(pool.embed(["a"])).rejects.toThrow("no threads left");
    await expect(pool.embed(["a"])).rejects.toThrow("no threads left");
  });
});
