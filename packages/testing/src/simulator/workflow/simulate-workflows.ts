import { WORKFLOW_DOMAIN } from "@selvedge/core/workflows";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { type FaultPlan, NO_FAULTS } from "../fault-plan.ts";
import type { PlantedFault } from "../planted-faults.ts";
import { OUTSIDE, SimProcess } from "../sim-process.ts";
import type { SimulationResult } from "../simulate.ts";
import { turmoil } from "../turmoil.ts";
import { Violation, World } from "../world.ts";
import { checkWorkflows, unrestOfWorkflows } from "./check-workflows.ts";
import { drawFlow } from "./draw-flow.ts";
import { longestSleep } from "./flow.ts";
import {
  actOnWorkflows,
  beginUnstarted,
  resumeWaiting,
  travel,
  type WorkflowStage,
} from "./workflow-actions.ts";
import { observeWorkflows, startWorkflowApp, type WorkflowApp } from "./workflow-app.ts";
import { WorkflowLedger } from "./workflow-ledger.ts";
import { WorkflowReader } from "./workflow-reader.ts";

export interface SimulateWorkflowsOptions {
  faults?: FaultPlan;
  planted?: PlantedFault;
  trace?: boolean;
  /** How long the longest sleeps of its workflows take. */
  longestSleepMs?: number;
}

const REST_WITHIN_MS = 60 * 60_000;
const MAX_STEPS = 10_000;
/** How far the clocks of two processes are apart, after a few jumps of ten minutes. */
const LONGEST_SKEW_MS = 50 * 60_000;
/** Each answer may lead to another question, in every iteration. */
const MAX_ROUNDS = 200;

/** One world of processes that run generated workflows. Each result must be that of the plain interpreter. */
export async function simulateWorkflows(
  seed: number,
  options: SimulateWorkflowsOptions = {},
): Promise<SimulationResult> {
  const world = new World(seed, { faults: options.faults, trace: options.trace ?? false });
  let violation: Violation | undefined;
  try {
    await live(world, options);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
  }
  for (const process of world.processes) {
    process.onCrash = () => {};
    process.crash();
  }
  return {
    seed,
    violation,
    reached: world.reached,
    trace: world.trace,
    steps: world.steps,
    virtualMs: world.time,
  };
}

async function live(world: World, options: SimulateWorkflowsOptions): Promise<void> {
  const { random } = world;
  const shared: Storage = new InMemoryStorage();
  const ledger = new WorkflowLedger(world);
  const outside = new SimProcess(world, OUTSIDE, 0);
  const agents = random.chance(0.25);
  const { longestSleepMs } = options;
  const flows = Array.from({ length: random.between(1, 2) }, (_, index) =>
    drawFlow(random, {
      id: `w${index + 1}`,
      agents,
      ...(longestSleepMs !== undefined && { longestSleepMs }),
    }),
  );
  world.note(() => JSON.stringify(flows));
  const apps: WorkflowApp[] = [];
  let healed = false;
  const start = (slot: number, incarnation: number): void => {
    const process = new SimProcess(world, slot, incarnation);
    process.onCrash = () => {
      world.reached.add("a process crashed");
      const others = apps.some((app) => app.process.alive);
      if (others && random.chance(world.plan.staysDead)) {
        world.reached.add("a process stayed dead");
        return;
      }
      const wait = healed ? 0 : random.between(10, 20_000);
      world.wait(outside, `restart of ${process.name}`, wait, () => start(slot, incarnation + 1));
    };
    apps[slot] = startWorkflowApp(process, { shared, ledger, flows, planted: options.planted });
  };
  const stage: WorkflowStage = {
    world,
    ledger,
    shared,
    flows,
    readers: [],
    observer: observeWorkflows(outside, { shared, flows }),
    apps: () => apps.filter((app) => app.process.alive),
  };
  await shared.domain(WORKFLOW_DOMAIN);
  for (let slot = random.between(1, 3) - 1; slot >= 0; slot--) start(slot, 1);
  await turmoil(stage, { actions: [4, 16], whileBusy: 0.08, act: () => actOnWorkflows(stage) });
  healed = true;
  world.faults = NO_FAULTS;
  for (const process of world.processes) process.pausedUntil = 0;
  for (const { process, closing } of stage.apps()) if (closing) process.crash();
  world.note(() => "faults stop");
  await rest(stage);
  await answerAll(stage);
  for (const run of ledger.runs) if (random.chance(0.25)) travel(stage, run);
  await rest(stage);
  await answerAll(stage);
  for (const run of ledger.runs) stage.readers.push(new WorkflowReader(random.pick(stage.apps()), run, 0));
  await rest(stage);
  await checkWorkflows(stage);
  await world.settle();
}

/** I12: without faults, every run ends or waits for a person. */
async function rest(stage: WorkflowStage): Promise<void> {
  const { world } = stage;
  // A process with a wrong clock stored when a run wakes up.
  const wrong = world.plan.clockJump > 0 ? LONGEST_SKEW_MS : 0;
  const until = world.time + REST_WITHIN_MS + allSleeps(stage) + wrong;
  // Processes look for work while a run sleeps.
  const lastStep = world.steps + MAX_STEPS + allSleeps(stage) / 100 + wrong / 30;
  for (;;) {
    await world.settle();
    const restless = world.busy ? "something is under way" : await unrestOfWorkflows(stage);
    if (!restless) return;
    const problem =
      world.time > until
        ? `after ${REST_WITHIN_MS / 60_000} minutes without faults`
        : world.steps > lastStep
          ? `after ${MAX_STEPS} steps without faults`
          : world.step()
            ? undefined
            : "nobody does anything";
    if (problem === undefined) continue;
    world.violate("I12", `${problem}: ${(await unrestOfWorkflows(stage)) ?? restless}`);
    await world.settle();
  }
}

/** However often the longest sleep is repeated. */
function allSleeps({ flows }: WorkflowStage): number {
  return 100 * Math.max(...flows.map(longestSleep));
}

/** Starts what was not accepted, and answers whatever waits for a person, until nothing does. */
async function answerAll(stage: WorkflowStage): Promise<void> {
  const { world, ledger } = stage;
  for (const run of ledger.runs)
    if (!run.starts.some(({ outcome }) => outcome === "accepted")) beginUnstarted(stage, run);
  await rest(stage);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const waiting = await waitingRuns(stage);
    if (waiting.length === 0) return;
    for (const run of waiting) resumeWaiting(stage, run, world.random.pick(stage.apps()));
    await rest(stage);
  }
  world.violate("I12", "there is always one more step that waits");
}

/** Runs that wait for a person, as any process says. */
async function waitingRuns(stage: WorkflowStage) {
  const { world, ledger } = stage;
  const app = world.random.pick(stage.apps());
  let statuses: (string | undefined)[] | undefined;
  const asked = ledger.runs.map((run) =>
    app.workflows.get(run.flow.id)!.getWorkflowRunById(run.id, { fields: [] }),
  );
  void Promise.all(asked).then((states) => (statuses = states.map((state) => state?.status)));
  for (let step = 0; step < 5_000 && !statuses; step++) {
    world.step();
    await world.settle();
  }
  return ledger.runs.filter((_, index) => statuses?.[index] === "suspended");
}
