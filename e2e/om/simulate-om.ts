import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStorage, OM_DOMAIN, OM_EVENTS, OM_JOBS } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { type ScriptedCall, scriptedModel } from "@selvedge/testing";
import type { KindOfWorld, SimulationResult } from "@selvedge/testing/simulator";
import { ACTORS } from "../../packages/core/src/storage/thread-tables.ts";
import { NO_FAULTS } from "../../packages/testing/src/simulator/fault-plan.ts";
import type { PlantedFault } from "../../packages/testing/src/simulator/planted-faults.ts";
import { OUTSIDE, SimProcess } from "../../packages/testing/src/simulator/sim-process.ts";
import { SimStorage } from "../../packages/testing/src/simulator/sim-storage.ts";
import { Violation, World } from "../../packages/testing/src/simulator/world.ts";
import { checkOmEnd } from "./check-om-end.ts";
import { checkOmPrompt, OmPrompts } from "./check-om-prompt.ts";

interface OmApp {
  process: SimProcess;
  agent: Agent;
  memory: Memory;
  close(): Promise<void>;
}

/** One world of processes with observational memory. */
export interface OmStage {
  world: World;
  shared: InMemoryStorage;
  scope: "thread" | "resource";
  threads: readonly { thread: string; resource: string }[];
  prompts: OmPrompts;
  apps(): OmApp[];
}

const REST_WITHIN_MS = 60 * 60_000;
/** How long a chunk may wait for a number while nothing else is to do: two searches of a process, and slow answers. */
const NUMBERED_WITHIN_MS = 5_000;
const MAX_STEPS = 30_000;
const WORDS = "word ".repeat(25);

export const MEMORY_WORLDS: KindOfWorld = { simulate: simulateOm, flag: "--memory" };

export async function simulateOm(
  seed: number,
  options: { planted?: PlantedFault | undefined; trace?: boolean } = {},
): Promise<SimulationResult> {
  const world = new World(seed, { faults: undefined, trace: options.trace ?? false });
  let violation: Violation | undefined;
  try {
    await live(world, options.planted);
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    violation = error;
  }
  for (const process of world.processes) {
    process.onCrash = () => {};
    process.crash();
  }
  const { reached, trace, steps, time: virtualMs } = world;
  return { seed, violation, reached, trace, steps, virtualMs };
}

async function live(world: World, planted: PlantedFault | undefined): Promise<void> {
  const { random } = world;
  const shared = new InMemoryStorage();
  await shared.domain(OM_DOMAIN);
  const outside = new SimProcess(world, OUTSIDE, 0);
  const scope = random.chance(0.3) ? "resource" : "thread";
  const threads = Array.from({ length: random.between(1, 2) }, (_, index) => ({
    thread: `t${index + 1}`,
    resource: "r1",
  }));
  const apps: OmApp[] = [];
  const stage: OmStage = {
    world,
    shared,
    scope,
    threads,
    prompts: new OmPrompts(),
    apps: () => apps.filter((app) => app.process.alive),
  };
  const observes = random.chance(0.15) ? false : random.pick([60, 120]);
  let healed = false;
  const start = (slot: number, incarnation: number): void => {
    const process = new SimProcess(world, slot, incarnation);
    process.onCrash = () => {
      world.reached.add("a process crashed");
      const wait = healed ? 0 : random.between(10, 20_000);
      world.wait(outside, `restart of ${process.name}`, wait, () => start(slot, incarnation + 1));
    };
    apps[slot] = startApp(stage, process, planted, observes, () => healed);
  };
  const count = random.between(1, 3);
  for (let slot = 0; slot < count; slot++) start(slot, 1);
  await turmoil(stage);
  healed = true;
  world.faults = NO_FAULTS;
  for (const process of world.processes) process.pausedUntil = 0;
  world.note(() => "faults stop");
  await rest(stage);
  // What had failed for good is tried again when the next interval is due.
  for (let round = 0; round < 3; round++) {
    for (const memory of threads) say(stage, random.pick(stage.apps()), memory, 5);
    await rest(stage);
  }
  await checkOmEnd(stage);
  await world.settle();
}

function startApp(
  { world, shared, scope, prompts }: OmStage,
  process: SimProcess,
  planted: PlantedFault | undefined,
  bufferTokens: number | false,
  isHealed: () => boolean,
): OmApp {
  const { random } = world;
  const storage = new SimStorage(process, { shared, planted, sessions: undefined });
  const trouble = random.chance(0.5) ? random.pick([0.1, 0.4]) : 0;
  const ask = async (what: string): Promise<string | undefined> => {
    const isSlow = !isHealed() && random.chance(0.1);
    await process.work(what, isSlow ? random.between(5_000, 90_000) : random.between(0, 400));
    if (isHealed() || !random.chance(trouble)) return undefined;
    world.reached.add(`the ${what} failed or said nonsense`);
    const kind = random.between(0, 3);
    if (kind === 0) throw Object.assign(new Error("overloaded"), { statusCode: 503 });
    if (kind === 1) throw Object.assign(new Error("refused"), { statusCode: 401 });
    return kind === 2 ? "" : "no no no no";
  };
  const observer = scriptedModel(async ({ prompt }) => {
    const nonsense = await ask("observer");
    if (nonsense !== undefined) return nonsense;
    const conversation = /<conversation[\s\S]*<\/conversation>/.exec(textOf(prompt.at(-1)))?.[0] ?? "";
    const marks = [...new Set(conversation.match(/[ma]-\d+;/g) ?? [])];
    return `<observations>\n* 🟡 (10:00) The start.\n${marks.map((mark) => `* 🟡 (10:00) noted ${mark}`).join("\n")}\n</observations>`;
  });
  const reflector = scriptedModel(async ({ prompt }) => {
    const nonsense = await ask("reflector");
    if (nonsense !== undefined) return nonsense;
    const marks = [...new Set(textOf(prompt.at(-1)).match(/[ma]-\d+;/g) ?? [])];
    // All that is in it, in fewer words.
    return `<observations>\n* 🔴 ${marks.join("")}\n</observations>`;
  });
  const memory = new Memory({
    storage,
    system: process,
    onWarning: ({ message, cause }) => world.note(() => `${process.name} warns: ${message} ${String(cause)}`),
    options: {
      observationalMemory: {
        scope,
        observation: { model: observer, messageTokens: 300, bufferTokens, maxWaitMs: 5_000 },
        reflection: { model: reflector, observationTokens: 200, maxWaitMs: 5_000 },
      },
    },
  });
  const look = createTool({
    id: "look",
    description: "Looks.",
    execute: async () => {
      await process.work("tool", random.between(0, 50));
      return WORDS;
    },
  });
  const model = scriptedModel(async (call) => {
    await checkOmPrompt({ world, shared, scope, prompts }, process, call.prompt);
    await process.work("model", random.between(0, 300));
    const number = world.nextNumber();
    if (random.chance(0.25))
      return {
        text: `a-${number}; `,
        toolCalls: [{ toolCallId: `call-${number}`, toolName: "look", input: {} }],
      };
    return `a-${number}; ${WORDS}`;
  });
  const agent = new Agent({ id: "a", name: "a", instructions: "Answer.", model, memory, tools: { look } });
  const logger = {
    ...silentLogger,
    warn: (message: string, error: unknown) =>
      world.note(() => `${process.name} warns: ${message}: ${String(error)}`),
    error: (message: string, error: unknown) =>
      world.note(() => `${process.name} error: ${message}: ${String(error)}`),
  };
  const mastra = new Mastra({ agents: { agent }, storage, system: process, logger });
  mastra.start().catch(() => process.crash());
  return { process, agent, memory, close: () => mastra.close() };
}

function say(stage: OmStage, app: OmApp, memory: OmStage["threads"][number], maxSteps: number): void {
  const { world } = stage;
  const mark = `m-${world.nextNumber()};`;
  world.note(() => `${app.process.name} receives ${mark} on ${memory.thread}`);
  const input = `thread=${memory.thread} ${mark} ${WORDS}`;
  if (world.random.chance(0.5)) {
    app.agent.generate(input, { memory, maxSteps }).catch(() => {});
    return;
  }
  const sent = app.agent.sendMessage(input, { threadId: memory.thread, resourceId: memory.resource });
  sent.admitted.catch(() => {});
}

async function turmoil(stage: OmStage): Promise<void> {
  const { world } = stage;
  const { random } = world;
  let actions = random.between(10, 40);
  let after = random.between(0, 200);
  while (actions > 0 || after > 0) {
    await world.settle();
    const live = stage.apps();
    if (actions > 0 && live.length > 0 && random.chance(world.busy ? 0.05 : 0.5)) {
      actions--;
      say(stage, random.pick(live), random.pick(stage.threads), 5);
      continue;
    }
    if (actions === 0) after--;
    disturb(world, live);
    if (!world.step() && actions === 0) return;
  }
}

function disturb(world: World, live: readonly OmApp[]): void {
  const { random, faults } = world;
  if (live.length === 0) return;
  if (random.chance(faults.pause)) {
    const { process } = random.pick(live);
    process.pausedUntil = world.time + random.between(5_000, 60_000);
    world.note(() => `${process.name} stands still`);
  }
  if (random.chance(faults.clockJump)) {
    const { process } = random.pick(live);
    process.clockOffset += random.between(-600_000, 600_000);
    world.note(() => `the clock of ${process.name} jumps`);
  }
  if (random.chance(faults.shutdown)) {
    const app = random.pick(live);
    world.note(() => `${app.process.name} shuts down`);
    void app.close().then(() => app.process.crash());
  }
}

async function restlessness({ shared }: OmStage): Promise<string | undefined> {
  const [actors, jobs] = await shared.selectAll([
    { table: ACTORS, where: {} },
    { table: OM_JOBS, where: { state: { in: ["waiting", "running"] } } },
  ]);
  const actor = actors.find((row) => row.run_id !== null || (row.mailbox_count ?? 0) > 0);
  if (actor) return `thread ${actor.thread_id} has a run or mail`;
  const [job] = jobs;
  return job && `a job ${job.kind} of ${job.source} is ${job.state}, due ${job.due_at}, ${job.last_error}`;
}

async function unnumbered({ shared }: OmStage): Promise<string | undefined> {
  const [event] = await shared.select({ table: OM_EVENTS, limit: 1 });
  return event && `a chunk of ${event.source} waits for a number`;
}

async function rest(stage: OmStage): Promise<void> {
  await untilNone(stage, restlessness, REST_WITHIN_MS);
  // What could not be numbered beside another process's run needs no further run.
  await untilNone(stage, unnumbered, NUMBERED_WITHIN_MS);
}

async function untilNone(stage: OmStage, left: typeof restlessness, withinMs: number): Promise<void> {
  const { world } = stage;
  const until = world.time + withinMs;
  const lastStep = world.steps + MAX_STEPS;
  for (;;) {
    await world.settle();
    const restless = world.busy ? "something is under way" : await left(stage);
    if (!restless) return;
    if (world.time > until || world.steps > lastStep || !world.step()) {
      world.violate("rest", `without faults: ${restless}; ${await left(stage)}`);
      return world.settle();
    }
  }
}

function textOf(message: ScriptedCall["prompt"][number] | undefined): string {
  const content = message?.content ?? "";
  return typeof content === "string"
    ? content
    : content.map((part) => ("text" in part ? part.text : "")).join("");
}
