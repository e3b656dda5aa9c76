import type { Change, MachineProcesses } from "@selvedge/core/storage";
import { VirtualSystem } from "../virtual-system.ts";
import { Random } from "./random.ts";
import type { World } from "./world.ts";

/** A slot below 0 stands for what is outside all processes, and never dies. */
export const OUTSIDE = -1;

/** A process of a simulated world: its own clock, its own ids, and a life that can end at any await. */
export class SimProcess extends VirtualSystem {
  readonly slot: number;
  readonly world: World;
  alive = true;
  pausedUntil = 0;
  /** Tools that are working at this moment. */
  toolsAtWork = 0;
  readonly watchers: Set<(change: Change) => void> = new Set();
  onCrash: () => void = () => {};
  /** Where it runs commands, in worlds with some. */
  machine?: MachineProcesses;
  onDeath: () => void = () => {};
  readonly #whenDead = new Set<() => void>();
  #newsOnTheWay = false;
  #newsKeys = new Set<string>();

  constructor(world: World, slot: number, incarnation: number) {
    const random = new Random(world.random.between(1, 2 ** 31));
    super({ name: `p${slot + 1}.${incarnation}`, random: () => random.next(), clock: world.clock });
    this.world = world;
    this.slot = slot;
    if (slot >= 0) world.processes.push(this);
  }

  override setTimer(ms: number, callback: () => void): () => void {
    return this.world.wait(this, "timer", Math.max(0, ms), callback, true);
  }

  /** Does something the process has to wait for, and answers it after a while. Never settles when the process dies. */
  perform<Value>(label: () => string, effect: () => Promise<Value>): Promise<Value> {
    const { world } = this;
    return new Promise((resolve, reject) => {
      world.wait(this, label, this.#latency(), () => {
        const outcome = effect();
        const answerTakes = world.random.chance(0.25) ? this.#latency() : 0;
        if (answerTakes === 0) outcome.then(resolve, reject);
        else {
          outcome.catch(() => {});
          world.wait(
            this,
            () => `${label()}: answer`,
            answerTakes,
            () => void outcome.then(resolve, reject),
          );
        }
      });
    });
  }

  /** Works for a while on something outside the store. */
  work(label: string, ms: number): Promise<void> {
    return new Promise((resolve) => this.world.wait(this, label, ms, resolve));
  }

  /** Another process wrote to the store: those who watch hear of it, some time later. */
  tellNews(keys: readonly string[]): void {
    const { world } = this;
    if (this.watchers.size === 0) return;
    if (world.random.chance(world.faults.lostNews)) {
      world.reached.add("news were lost");
      return;
    }
    for (const key of keys) this.#newsKeys.add(key);
    if (this.#newsOnTheWay) return;
    this.#newsOnTheWay = true;
    const slow = world.faults.slowNews && world.random.chance(0.2);
    world.wait(this, "news", slow ? world.random.between(100, 5_000) : world.random.between(0, 8), () => {
      this.#newsOnTheWay = false;
      // A store that cannot tell says so.
      const change: Change = world.random.chance(0.1) ? "unknown" : { keys: this.#newsKeys };
      this.#newsKeys = new Set();
      for (const watcher of this.watchers) watcher(change);
    });
  }

  /** Calls back when it dies, until the returned function is called. */
  whenDead(callback: () => void): () => void {
    this.#whenDead.add(callback);
    return () => this.#whenDead.delete(callback);
  }

  crash(): void {
    if (!this.alive || this.slot < 0) return;
    this.alive = false;
    if (this.toolsAtWork > 0)
      this.world.reached.add("a process crashed between a tool's intent and its result");
    this.watchers.clear();
    this.onDeath();
    for (const callback of this.#whenDead) callback();
    this.world.forgetProcess(this);
    this.onCrash();
  }

  #latency(): number {
    const { random, faults } = this.world;
    if (random.chance(faults.slow)) return random.between(500, 25_000);
    return random.weighted([
      [60, 0],
      [30, random.between(1, 3)],
      [10, random.between(4, 30)],
    ]);
  }
}
