import { availableParallelism, loadavg } from "node:os";
import { LoadProcess } from "./load-process.ts";
import { isWhole, SseReader } from "./sse-reader.ts";

/** What a scenario found, against what is promised. */
export interface Finding {
  name: string;
  figures: string;
  held: boolean;
  /** Whether every reader got everything once. A busy machine may cost time and memory; it excuses nothing here. */
  whole: boolean;
}

type Run = Awaited<ReturnType<LoadProcess["run"]>>;

const NEVER_MS = 600_000;

/** Many readers on one run: it takes hardly longer than with one. */
export async function fanOut(options: {
  readers: number;
  chunks: number;
  rounds: number;
  /** At most so many times as long as alone. */
  bar: number;
}): Promise<Finding> {
  const { readers, chunks, rounds, bar } = options;
  const server = await LoadProcess.start({ chunks, chunkBytes: 100, chunkDelayMs: 2, stallMs: NEVER_MS });
  try {
    await server.run("warm");
    const alone: Run[] = [];
    const together: Run[] = [];
    let whole = true;
    for (let round = 0; round < rounds; round++) {
      alone.push(await server.run(`alone-${round}`));
      const all = Array.from(
        { length: readers },
        () => new SseReader(server.url, `many-${round}`, { later: true }),
      );
      const read = all.map(
        (reader) =>
          new Promise<void>((resolve) => {
            void reader.connect(0, () => reader.finished && resolve());
          }),
      );
      together.push(await server.run(`many-${round}`));
      await Promise.all(read);
      for (const reader of all) reader.settle();
      whole &&= all.every((reader) => isWhole(reader.ids) && reader.ids.length === all[0]!.ids.length);
      for (const reader of all) reader.cut();
    }
    const [one, many] = [fastest(alone), fastest(together)];
    const ratio = many.ms / one.ms;
    // On a machine with other work the clock tells about that; the server's own work then bounds what it costs.
    const busy = loadavg()[0]! > availableParallelism();
    const worked = 1 + (many.cpuMs - one.cpuMs) / one.ms;
    return {
      name: `${readers} readers on one run of ${chunks} chunks`,
      figures: `${ratio.toFixed(2)}x its time alone (${show(one)} alone, ${show(many)} with all)${busy ? `, ${worked.toFixed(2)}x by its own work, on a busy machine` : ""}; every reader got every number once: ${whole}`,
      held: (busy ? Math.min(ratio, worked) : ratio) <= bar && whole,
      whole,
    };
  } finally {
    await server.close();
  }
}

/** Readers that take nothing: they cost little, are let go with their number, and find everything when they come back. */
export async function stalled(options: {
  readers: number;
  chunks: number;
  chunkBytes: number;
  /** What all of them may cost. */
  megabytes: number;
}): Promise<Finding> {
  const { readers, chunks, chunkBytes, megabytes } = options;
  const settings = { chunks, chunkBytes, chunkDelayMs: 0, stallMs: 1_000, weigh: true };
  const alone = await grow(settings, async () => {});
  const all: SseReader[] = [];
  let released = 0;
  let same = true;
  const together = await grow(
    settings,
    async (server, threadId) => {
      for (let index = 0; index < readers; index++) {
        const reader = new SseReader(server.url, threadId, { keepText: true });
        await reader.connect(0);
        reader.stall();
        all.push(reader);
      }
    },
    async (server) => {
      await until(async () => (await server.memory()).streams === 0);
      for (const reader of all) {
        await reader.drain();
        if (reader.end?.code === "reader-too-slow" && reader.end.details.after === reader.last) released++;
      }
      const texts = new Set<string>();
      for (const reader of all) {
        await new Promise<void>(
          (resolve) => void reader.connect(reader.last, () => reader.finished && resolve()),
        );
        reader.cut();
        same &&= isWhole(reader.ids);
        texts.add(reader.text);
      }
      same &&= texts.size === 1;
    },
  );
  const added = (together.growth - alone.growth) / 1e6;
  const slower = together.ms / alone.ms;
  return {
    name: `${readers} stalled readers, ${chunks} chunks of ${chunkBytes} bytes`,
    figures: `${added.toFixed(0)} MB more than without, ${slower.toFixed(2)}x the time; ${released} let go with their number; all came back to the same text: ${same}`,
    held: added < megabytes && released === readers && same,
    whole: released === readers && same,
  };
}

async function grow(
  settings: Parameters<typeof LoadProcess.start>[0],
  before: (server: LoadProcess, threadId: string) => Promise<void>,
  after: (server: LoadProcess, threadId: string) => Promise<void> = async () => {},
): Promise<{ growth: number; ms: number }> {
  const server = await LoadProcess.start(settings);
  try {
    await server.run("warm");
    const { used } = await server.memory();
    await before(server, "slow");
    const { ms: took, peak } = await server.run("slow");
    await after(server, "slow");
    return { growth: peak - used, ms: took };
  } finally {
    await server.close();
  }
}

/** Lines that break at any moment, during a run and after it: every number arrives once. */
export async function disconnects(options: {
  cuts: number;
  readers: number;
  chunks: number;
  seed: number;
}): Promise<Finding> {
  const { cuts, readers, chunks, seed } = options;
  const perReader = Math.ceil(cuts / readers);
  const server = await LoadProcess.start({ chunks, chunkBytes: 50, chunkDelayMs: 1, stallMs: NEVER_MS });
  try {
    await server.run("warm");
    const random = mulberry(seed);
    const run = server.run("cut");
    const results = await Promise.all(
      Array.from({ length: readers }, () => readWithCuts(server.url, perReader, chunks, random)),
    );
    await run;
    const good = results.filter(({ ids }) => isWhole(ids) && ids.length === results[0]!.ids.length).length;
    const same = new Set(results.map(({ text }) => text)).size === 1;
    const whole = good === readers && same && results[0]!.ids.length > chunks;
    return {
      name: `${perReader * readers} disconnects of ${readers} readers (seed ${seed})`,
      figures: `${good} of ${readers} readers got each of ${results[0]!.ids.length} numbers once; the same text: ${same}`,
      held: whole,
      whole,
    };
  } finally {
    await server.close();
  }
}

/** Cut so often, at random places; the last cuts come after the run has ended. */
async function readWithCuts(
  url: string,
  cuts: number,
  chunks: number,
  random: () => number,
): Promise<SseReader> {
  const reader = new SseReader(url, "cut", { keepText: true });
  const stride = (2 * chunks) / cuts;
  for (let cut = 0; ; cut++) {
    const wanted = cut < cuts ? reader.last + Math.ceil(random() * stride) : Number.POSITIVE_INFINITY;
    await new Promise<void>((resolve, reject) => {
      const look = () => (reader.last >= wanted || reader.finished) && resolve();
      reader.connect(reader.last, look).then(look, reject);
    });
    reader.cut();
    if (reader.finished && cut >= cuts) return reader;
    // One that is through may still be cut: it comes back and is told nothing twice.
    if (reader.finished) await new Promise((resolve) => setTimeout(resolve, random() * 5));
  }
}

async function until(reached: () => Promise<boolean>): Promise<void> {
  while (!(await reached())) await new Promise((resolve) => setTimeout(resolve, 100));
}

function fastest(runs: readonly Run[]): Run {
  return runs.reduce((best, run) => (run.ms < best.ms ? run : best));
}

function show({ ms, cpuMs }: Run): string {
  return `${ms.toFixed(0)} ms, ${cpuMs.toFixed(0)} of them working,`;
}

function mulberry(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
