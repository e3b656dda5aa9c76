import type { System } from "../../system.ts";

/** A clock that moves only when it is told to. */
export interface VirtualSystem extends System {
  /** Timers that are armed now. */
  readonly pending: number;
  /** Moves on, firing what falls due on the way, and lets promises settle after each timer. */
  advance(ms: number): Promise<void>;
  /** Moves on until the promise settles. */
  until<Value>(promise: Promise<Value>): Promise<Value>;
}

export function virtualSystem(random: () => number = () => 0.5): VirtualSystem {
  const timers = new Map<number, { at: number; callback: () => void }>();
  let time = 0;
  let ids = 0;
  async function fireNext(end: number): Promise<boolean> {
    await settle();
    const due = [...timers].filter(([, timer]) => timer.at <= end).sort(([, a], [, b]) => a.at - b.at)[0];
    if (!due) return false;
    time = Math.max(time, due[1].at);
    timers.delete(due[0]);
    due[1].callback();
    return true;
  }

  return {
    get pending() {
      return timers.size;
    },
    now: () => 1_700_000_000_000 + time,
    monotonic: () => time,
    setTimer(ms, callback) {
      const id = ids++;
      timers.set(id, { at: time + ms, callback });
      return () => timers.delete(id);
    },
    newId: () => `id-${ids++}`,
    random,
    async advance(ms) {
      const end = time + ms;
      while (await fireNext(end));
      time = end;
      await settle();
    },
    async until(promise) {
      let settled = false;
      const mark = (): void => void (settled = true);
      promise.then(mark, mark);
      await settle();
      while (!settled && (await fireNext(Number.POSITIVE_INFINITY))) await settle();
      return promise;
    },
  };
}

/** Lets every promise that can settle without a timer do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
