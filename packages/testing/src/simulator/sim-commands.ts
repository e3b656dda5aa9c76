import { PROCESS_DOMAIN, Workspace } from "@selvedge/core/workspace";
import type { StoredMessage } from "@selvedge/protocol";
import type { Stage } from "./actions.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { type PlantedCommandFault, type SimCommand, SimMachine } from "./sim-machine.ts";
import type { NextCall } from "./sim-model.ts";
import type { SimProcess } from "./sim-process.ts";
import { SimSandbox } from "./sim-sandbox.ts";
import type { World } from "./world.ts";

const RUN = "mastra_workspace_execute_command";
/** Neither says that the command ran. */
const UNKNOWN = /outcome is unknown|outcome-unknown|was lost when/;

/** Two machines on which agents run commands. The workspace, its tools and the rows of processes are the real ones. */
export class SimCommands {
  readonly #world: World;
  readonly #machines: readonly SimMachine[];
  readonly #ran: SimCommand[] = [];

  constructor(world: World, planted: PlantedCommandFault = {}) {
    this.#world = world;
    this.#machines = ["one", "two"].map((host) => new SimMachine(host, planted));
  }

  workspace(process: SimProcess): Workspace {
    const machine = this.#machines[process.slot % this.#machines.length]!;
    process.machine = machine.seenBy(process);
    const step = <Value>(label: () => string, effect: () => Promise<Value>): Promise<Value> =>
      process.perform(label, async () => {
        const { faults, random } = this.#world;
        // Worlds with crashes have more of them here: between the journal, the start and the result.
        const dies = faults.crash > 0 && random.chance(0.2);
        if (dies && random.chance(0.5)) return die(process);
        const value = await effect();
        return dies ? die(process) : value;
      });
    const sandbox = new SimSandbox({
      process,
      machine,
      step,
      onStart: (command) => void this.#ran.push(command),
    });
    return new Workspace({ id: "commands", sandbox, system: process });
  }

  readonly nextCall: NextCall = (_offered, toolCallId) => ({
    toolName: RUN,
    input: { command: toolCallId, ...(this.#world.random.chance(0.2) && { background: true }) },
  });

  /** I5: a command ran once or not at all, as its call was told, and nothing is left of those whose owner died. */
  async check(
    { apps, world }: Stage,
    histories: ReadonlyMap<string, readonly StoredMessage[]>,
  ): Promise<void> {
    const violate = (message: string): void => world.violate("I5", message);
    for (const part of [...histories.values()].flat().flatMap(({ content }) => content.parts)) {
      if (part.type !== "tool-invocation" || part.toolInvocation.toolName !== RUN) continue;
      const { toolCallId, result, isError, state } = part.toolInvocation;
      const runs = this.#ran.filter((one) => one.toolCallId === toolCallId);
      const text = JSON.stringify(result) ?? "";
      if (runs.length > 1) violate(`the command of ${toolCallId} ran ${runs.length} times`);
      if (UNKNOWN.test(text)) world.reached.add("the outcome of a command is unknown");
      else if (state === "result" && !isError && runs.length === 0)
        violate(`${toolCallId} was reported as run, and never ran: ${text}`);
    }
    // The next owner on a machine ends what dead ones left there.
    for (const app of apps()) {
      const sweep = app.storage.domain(PROCESS_DOMAIN).then((store) => store.killLeftovers());
      let isDone = false;
      void sweep.then(() => (isDone = true));
      for (let turn = 0; turn < 1_000 && !isDone; turn++) {
        world.step();
        await world.settle();
      }
      for (const { toolCallId, owner, ran } of this.#machines[app.process.slot % 2]!.commands)
        if (ran && !owner.alive) violate(`the command of ${toolCallId} runs on, and its owner is dead`);
    }
  }
}

/** Nobody hears of what a dead process does. */
function die(process: SimProcess): Promise<never> {
  process.world.note(() => `${process.name} crashes at a command`);
  process.crash();
  return new Promise(() => {});
}

/** One world of ten. Not drawn, so that the other seeds keep their worlds. */
export function hasCommands(seed: number): boolean {
  return seed % 10 === 6;
}

export function drawCommands(
  world: World,
  seed: number,
  planted: PlantedFault | undefined,
): SimCommands | undefined {
  return hasCommands(seed) ? new SimCommands(world, planted?.commands) : undefined;
}
