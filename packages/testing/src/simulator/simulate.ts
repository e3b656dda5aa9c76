import { SESSION_DOMAIN } from "@selvedge/core/agent-controller";
import { InMemoryStorage, type Row, type Storage } from "@selvedge/core/storage";
import { PROCESS_DOMAIN, WORKSPACE_DOMAIN } from "@selvedge/core/workspace";
import { act, answer, type Stage, waitingCalls } from "./actions.ts";
import { checkEnd, restlessness } from "./check-end.ts";
import { type FaultPlan, NO_FAULTS } from "./fault-plan.ts";
import { Ledger, type SimThread } from "./ledger.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { endSessions } from "./end-sessions.ts";
import { type SimApp, type SimSurroundings, startApp } from "./sim-app.ts";
import { drawCommands } from "./sim-commands.ts";
import { drawFiles } from "./sim-files.ts";
import { drawInbox } from "./sim-inbox.ts";
import { OneByOneStorage } from "./one-by-one-storage.ts";
import { OUTSIDE, SimProcess } from "./sim-process.ts";
import { drawSessions } from "./sim-sessions.ts";
import { SimReader } from "./sim-reader.ts";
import { turmoil } from "./turmoil.ts";
import { Violation, World } from "./world.ts";

export interface SimulateOptions {
  /** Instead of the faults that the seed draws. */
  faults?: FaultPlan;
  /** A mistake made on purpose. */
  planted?: PlantedFault;
  trace?: boolean;
  /** An empty store instead of the one in memory. It has the domain of sessions, and the world closes it. */
  store?: Storage;
}

export interface SimulationResult {
  seed: number;
  violation: Violation | undefined;
  reached: Set<string>;
  /** What happened, if it was asked for. */
  trace: string[] | undefined;
  steps: number;
  virtualMs: number;
}

/** A world must come to rest within so much time of its own after the last fault. */
const REST_WITHIN_MS = 30 * 60_000;
const MAX_STEPS = 20_000;

/** One world from its beginning to its rest: clients do things, things go wrong, and in the end everything must hold. */
export async function simulate(seed: number, options: SimulateOptions = {}): Promise<SimulationResult> {
  const store = options.store && new OneByOneStorage(options.store);
  const isWorking = (): boolean => store?.isBusy ?? false;
  const world = new World(seed, { faults: options.faults, trace: options.trace ?? false, isWorking });
  let violation: Violation | undefined;
  try {
    await live(world, seed, store ?? new InMemoryStorage(), options.planted);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
  }
  // What is left of it may not go on behind the back of the next world.
  for (const process of world.processes) {
    process.onCrash = () => {};
    process.crash();
  }
  await store?.close();
  return {
    seed,
    violation,
    reached: world.reached,
    trace: world.trace,
    steps: world.steps,
    virtualMs: world.time,
  };
}

async function live(
  world: World,
  seed: number,
  shared: Storage,
  planted: PlantedFault | undefined,
): Promise<void> {
  const { random } = world;
  const ledger = new Ledger(world);
  const outside = new SimProcess(world, OUTSIDE, 0);
  const threads = Array.from({ length: random.between(1, 3) }, (_, index): SimThread => ({
    threadId: `t${index + 1}`,
    resourceId: `r${(index % 2) + 1}`,
  }));
  const apps: SimApp[] = [];
  const count = random.between(1, 3);
  const sessions = drawSessions(world, seed);
  const inbox = sessions ? undefined : drawInbox(random, count);
  const files = sessions
    ? undefined
    : (drawFiles(world, seed, planted) ?? drawCommands(world, seed, planted));
  const around: SimSurroundings = { shared, ledger, inbox, sessions, files, planted };
  let healed = false;
  const start = (slot: number, incarnation: number): void => {
    const process = new SimProcess(world, slot, incarnation);
    process.onCrash = () => {
      world.reached.add("a process crashed");
      // The last one that can do a job comes back; of the others, some never do.
      const others = apps.filter((app) => app.process.alive);
      const isNeeded =
        others.length === 0 ||
        (inbox?.dispatches(slot) && !others.some((app) => inbox.dispatches(app.process.slot)));
      if (!isNeeded && random.chance(world.plan.staysDead)) {
        world.note(() => `${process.name} does not come back`);
        world.reached.add("a process stayed dead");
        return;
      }
      const wait = healed ? 0 : random.between(10, 20_000);
      world.wait(outside, `restart of ${process.name}`, wait, () => start(slot, incarnation + 1));
    };
    apps[slot] = startApp(process, around);
  };
  const stage: Stage = {
    world,
    ledger,
    shared,
    threads,
    senders: random.between(2, 3),
    agents: random.chance(0.3) ? 2 : 1,
    readers: [],
    prepared: random.chance(0.6),
    notifies: inbox !== undefined,
    sessions,
    files,
    apps: () => apps.filter((app) => app.process.alive),
  };
  await shared.domain(SESSION_DOMAIN);
  await shared.domain(WORKSPACE_DOMAIN);
  await shared.domain(PROCESS_DOMAIN);
  if (stage.prepared && !sessions) {
    const memory = await shared.getStore("memory");
    const at = new Date(outside.now());
    for (const { threadId, resourceId } of threads)
      await memory!.saveThread({ thread: { id: threadId, resourceId, createdAt: at, updatedAt: at } });
  }
  for (let slot = 0; slot < count; slot++) start(slot, 1);
  await turmoil(stage, { actions: [6, 24], whileBusy: 0.12, act: () => act(stage) });
  healed = true;
  world.faults = NO_FAULTS;
  for (const process of world.processes) process.pausedUntil = 0;
  for (const { process, closing } of stage.apps()) if (closing) process.crash();
  world.note(() => "faults stop");
  await rest(stage);
  const elsewhere = (): SimApp => {
    start(apps.length, 1);
    return apps.at(-1)!;
  };
  if (sessions) await endSessions(stage, sessions, { elsewhere, rest });
  else await answerAll(stage);
  for (const thread of threads) stage.readers.push(new SimReader(random.pick(stage.apps()), thread, 0));
  await rest(stage);
  await checkEnd(stage);
  await world.settle();
  await checkForgotten(stage);
  await world.settle();
}

/** I12: without faults, everything comes to rest. */
async function rest(stage: Stage): Promise<void> {
  const { world } = stage;
  const until = world.time + REST_WITHIN_MS;
  const lastStep = world.steps + MAX_STEPS;
  for (;;) {
    await world.settle();
    const restless = world.busy ? "something is under way" : await restlessness(stage);
    if (!restless) return;
    if (world.time > until)
      return (
        world.violate(
          "I12",
          `after ${REST_WITHIN_MS / 60_000} minutes without faults: ${await restlessness(stage)}`,
        ),
        world.settle()
      );
    if (world.steps > lastStep)
      return (
        world.violate("I12", `after ${MAX_STEPS} steps without faults: ${await restlessness(stage)}`),
        world.settle()
      );
    if (!world.step()) return (world.violate("I12", `nobody does anything, and ${restless}`), world.settle());
  }
}

/** Answers whatever waits for somebody, until nothing does. */
async function answerAll(stage: Stage): Promise<void> {
  const { world } = stage;
  for (let round = 0; ; round++) {
    const waiting = await waitingCalls(stage.shared);
    if (waiting.length === 0) return;
    await checkListed(stage, waiting);
    if (round > 60) return world.violate("I12", "there is always one more call that waits");
    for (const call of waiting)
      answer(stage, world.random.pick(stage.apps()), call, world.random.chance(0.7));
    await rest(stage);
  }
}

/** What waits for a person is listed, in any process, by the names of what is to be decided. */
async function checkListed(stage: Stage, waiting: readonly Row[]): Promise<void> {
  const { world } = stage;
  const { agents } = world.random.pick(stage.apps());
  const lists = Promise.all([agents.agent.listSuspendedRuns(), agents.other.listSuspendedRuns()]);
  let listed: string[] | undefined;
  void lists.then((all) => {
    const calls = all.flatMap(({ runs }) => runs.flatMap((run) => run.toolCalls));
    listed = calls.map((call) => (call.toolName ? call.toolCallId : `${call.toolCallId} without a name`));
  });
  for (let step = 0; step < 1_000 && !listed; step++) {
    world.step();
    await world.settle();
  }
  const expected = waiting.map((call) => call["tool_call_id"] as string);
  if (listed?.toSorted().join() !== expected.toSorted().join()) {
    world.violate("I12", `calls ${expected.join()} wait, and ${listed?.join()} are listed`);
  }
}

/** I13: a process keeps nothing of threads that nobody uses. */
async function checkForgotten(stage: Stage): Promise<void> {
  const { world } = stage;
  for (const reader of stage.readers) reader.close();
  for (const { session } of stage.sessions?.open ?? []) void session.core.close();
  // Nothing is left to do but timers that were set before.
  for (let step = 0; step < 200 && world.step(); step++) await world.settle();
  for (const { storage, process } of stage.apps()) {
    for (const runtime of storage.attached) {
      const { threadCount } = runtime as { threadCount?: number };
      if (threadCount !== undefined && threadCount > 0)
        world.violate("I13", `${process.name} still remembers ${threadCount} threads`);
    }
  }
}
