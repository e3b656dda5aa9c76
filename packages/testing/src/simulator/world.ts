import { drawFaults, type FaultPlan } from "./fault-plan.ts";
import { VirtualClock, type Waiting } from "../virtual-clock.ts";
import { Random } from "./random.ts";
import type { SimProcess } from "./sim-process.ts";

/** What is waited for, in words; a function where the words cost something. */
export type Label = string | (() => string);

/** Something a simulated process waits for. */
interface Pending extends Waiting {
  process: SimProcess;
  label: Label;
  timer: boolean;
}

/** A promise of the system that did not hold. */
export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.name = "Violation";
    this.invariant = invariant;
  }
}

/**
 * One simulated world: a clock, and everything that any of its processes waits for. Only what the world completes can
 * go on, and the seed alone decides what that is and when.
 */
export class World {
  readonly random: Random;
  readonly processes: SimProcess[] = [];
  /** Interesting states this world has been in. */
  readonly reached: Set<string> = new Set();
  readonly trace: string[] | undefined;
  /** What can go wrong in this world, and what can go wrong now. */
  readonly plan: FaultPlan;
  faults: FaultPlan;
  /** Whether processes can tell that another one is gone. */
  readonly deathIsKnown: boolean;
  readonly clock: VirtualClock<Pending> = new VirtualClock<Pending>();
  steps = 0;
  #violation: Violation | undefined;
  #numbers = 0;

  readonly #isWorking: () => boolean;

  /** `isWorking` tells whether the store is: a world stands still until it is done. */
  constructor(
    seed: number,
    options: { faults: FaultPlan | undefined; trace: boolean; isWorking?: () => boolean },
  ) {
    this.#isWorking = options.isWorking ?? (() => false);
    this.random = new Random(seed);
    this.plan = this.faults = options.faults ?? drawFaults(this.random);
    this.deathIsKnown = this.plan.deathIsKnown;
    this.trace = options.trace ? [] : undefined;
  }

  /** Whether a process can be cut off from a step that it began. */
  get mayLoseSteps(): boolean {
    const { crash, failedCommit, unsureCommit, failedRead, slow, pause, shutdown } = this.plan;
    return crash + failedCommit + unsureCommit + failedRead + slow + pause + shutdown > 0;
  }

  get time(): number {
    return this.clock.time;
  }

  /** Each number once, for names. */
  nextNumber(): number {
    return ++this.#numbers;
  }

  /** Says what happens, for those who read a trace. The text is only built when there is one. */
  note(text: () => string): void {
    this.trace?.push(`${this.time.toFixed(0).padStart(7)} ms  ${text()}`);
  }

  violate(invariant: string, message: string): void {
    this.note(() => `VIOLATION ${invariant}: ${message}`);
    this.#violation ??= new Violation(invariant, message);
  }

  /** Has a process wait for something that takes `ms`. */
  wait(process: SimProcess, label: Label, ms: number, run: () => void, timer = false): () => void {
    if (!process.alive) return () => {};
    return this.clock.add({ process, label, at: this.time + ms, timer, run });
  }

  /** Lets all code run until it waits for the world. */
  async settle(): Promise<void> {
    do await new Promise((resolve) => setImmediate(resolve));
    while (this.#isWorking());
    if (this.#violation) throw this.#violation;
  }

  /** Whether any process waits for more than a timer. */
  get busy(): boolean {
    return this.clock.waiting.some((pending) => !pending.timer);
  }

  /** Completes one thing; moves the clock when nothing is due. Answers false when nobody waits for anything. */
  step(): boolean {
    this.steps++;
    let ready = this.#ready();
    if (ready.length === 0) {
      const next = this.#nextTime();
      if (next === undefined) return false;
      this.clock.time = next;
      ready = this.#ready();
    }
    const pending = this.random.pick(ready);
    const { process } = pending;
    this.clock.remove(pending);
    const crash = process.slot >= 0 && this.random.chance(this.faults.crash);
    if (crash && this.random.chance(0.5)) {
      this.note(() => `${process.name} crashes before: ${text(pending.label)}`);
      process.crash();
      return true;
    }
    this.note(() => `${process.name} ${text(pending.label)}`);
    pending.run();
    if (crash) {
      this.note(() => `${process.name} crashes after: ${text(pending.label)}`);
      process.crash();
    }
    return true;
  }

  forgetProcess(process: SimProcess): void {
    this.clock.keep((pending) => pending.process !== process);
  }

  #ready(): Pending[] {
    const { time } = this;
    return this.clock.waiting.filter(({ at, process }) => at <= time && process.pausedUntil <= time);
  }

  #nextTime(): number | undefined {
    let next: number | undefined;
    for (const { at, process } of this.clock.waiting) {
      const time = Math.max(at, process.pausedUntil);
      if (next === undefined || time < next) next = time;
    }
    return next;
  }
}

function text(label: Label): string {
  return typeof label === "string" ? label : label();
}
