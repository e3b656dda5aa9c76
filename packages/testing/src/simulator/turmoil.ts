import type { SimProcess } from "./sim-process.ts";
import type { World } from "./world.ts";

/** A process of a world, as far as it can be disturbed. */
interface DisturbedApp {
  readonly process: SimProcess;
  close(): Promise<void>;
  closing?: Promise<void> | undefined;
}

interface DisturbedStage {
  readonly world: World;
  apps(): DisturbedApp[];
}

interface TurmoilOptions {
  /** The least and the most that clients do. */
  actions: readonly [min: number, max: number];
  /** How likely a client does something while processes are at work. */
  whileBusy: number;
  /** One thing some client does. */
  act(): void | Promise<void>;
}

/** Clients act, and processes crash, stand still and lose track of time. */
export async function turmoil(
  stage: DisturbedStage,
  { actions: [min, max], whileBusy, act }: TurmoilOptions,
): Promise<void> {
  const { world } = stage;
  const { random } = world;
  let actions = random.between(min, max);
  let after = random.between(0, 120);
  while (actions > 0 || after > 0) {
    await world.settle();
    if (actions > 0 && random.chance(world.busy ? whileBusy : 0.5)) {
      actions--;
      await act();
      continue;
    }
    if (actions === 0) after--;
    disturb(stage);
    if (!world.step() && actions === 0) return;
  }
}

function disturb({ world, apps }: DisturbedStage): void {
  const { random, faults } = world;
  const live = apps();
  if (live.length === 0) return;
  if (random.chance(faults.pause)) {
    const { process } = random.pick(live);
    process.pausedUntil = world.time + random.between(5_000, 60_000);
    world.note(() => `${process.name} stands still for ${process.pausedUntil - world.time} ms`);
  }
  if (random.chance(faults.shutdown)) {
    const app = random.pick(live);
    world.note(() => `${app.process.name} shuts down`);
    world.reached.add("a process shut down");
    app.closing ??= app.close();
    void app.closing.then(() => app.process.crash());
  }
  if (random.chance(faults.clockJump)) {
    const { process } = random.pick(live);
    process.clockOffset += random.between(-600_000, 600_000);
    world.note(() => `the clock of ${process.name} jumps, it is off by ${process.clockOffset} ms`);
  }
}
