import { Workspace } from "@selvedge/core/workspace";
import type { StoredMessage } from "@selvedge/protocol";
import type { Stage } from "./actions.ts";
import type { PlantedFault } from "./planted-faults.ts";
import { type PlantedFileFault, SimDisk, SimFilesystem, type Step } from "./sim-filesystem.ts";
import type { NextCall } from "./sim-model.ts";
import type { SimProcess } from "./sim-process.ts";
import { CHANGES } from "./tables.ts";
import type { World } from "./world.ts";

const PREFIX = "mastra_workspace_";
const LOG = "log.txt";
/** Refused before anything was done. */
const REFUSED = /has changed since it was read/;
/** Interrupted, and the path is neither as it was nor as it should be. */
const CHANGED = /Nothing more was written/;

/** A folder that agents and people work in. The workspace and its tools are the real ones. */
export class SimFiles {
  readonly #world: World;
  readonly #planted: PlantedFileFault;
  readonly #disk = new SimDisk();
  /** What people wrote. */
  readonly #people: string[] = [];

  constructor(world: World, planted: PlantedFileFault = {}) {
    this.#world = world;
    this.#planted = planted;
    this.#disk.put(LOG, Buffer.from("END"));
  }

  workspace(process: SimProcess): Workspace {
    // Worlds with crashes have more of them here: between the journal, the disk and the result.
    const step: Step = (label, effect) =>
      process.perform(label, async () => {
        const { faults, random, plan } = this.#world;
        // People do not wait until an agent is done.
        if (faults === plan && random.chance(0.05)) this.change();
        const dies = faults.crash > 0 && random.chance(0.25);
        if (dies && random.chance(0.5)) return die(process);
        const value = await effect();
        return dies ? die(process) : value;
      });
    return new Workspace({
      id: "files",
      filesystem: new SimFilesystem(this.#disk, step, this.#planted),
      system: process,
    });
  }

  /** Every change names its call, so that it can be found and counted. */
  readonly nextCall: NextCall = (_offered, toolCallId) => {
    const name = this.#world.random.weighted([
      [6, "edit_file"],
      [4, "read_file"],
      [6, "write_file"],
    ] as const);
    const inputs = {
      edit_file: { path: LOG, old_string: "END", new_string: `${toolCallId}\nEND` },
      read_file: { path: LOG },
      write_file: { path: `made/${toolCallId}`, content: contentOf(toolCallId) },
    };
    return { toolName: PREFIX + name, input: inputs[name] };
  };

  /** A person changes the file that agents change. */
  change(): void {
    const person = `person-${this.#world.nextNumber()}`;
    this.#world.note(() => `${person} changes ${LOG}`);
    this.#people.push(person);
    this.#disk.put(LOG, Buffer.from(this.#text.replace("END", `${person}\nEND`)));
  }

  get #text(): string {
    return this.#disk.entries.get(LOG)!.content!.toString();
  }

  /** I5: each change was made once or not at all, whole, as its call was told, and over no other change. */
  async check({ shared }: Stage, histories: ReadonlyMap<string, readonly StoredMessage[]>): Promise<void> {
    const lines = this.#text.split("\n");
    const violate = (message: string): void => this.#world.violate("I5", message);
    if (lines.at(-1) !== "END") violate(`${LOG} is not whole`);
    for (const person of this.#people) if (!lines.includes(person)) violate(`what ${person} wrote is gone`);
    const rows = await shared.select({ table: CHANGES });
    const listed = new Set(rows.map((row) => row["tool_call_id"]));
    for (const part of [...histories.values()].flat().flatMap(({ content }) => content.parts)) {
      if (part.type !== "tool-invocation") continue;
      const { toolCallId, toolName, result, isError } = part.toolInvocation;
      if (toolName !== `${PREFIX}edit_file` && toolName !== `${PREFIX}write_file`) continue;
      const made = this.#disk.entries.get(`made/${toolCallId}`)?.content;
      const count = lines.filter((line) => line === toolCallId).length + (made ? 1 : 0);
      if (count > 1) violate(`${toolCallId} changed ${LOG} ${count} times`);
      if (made && made.toString() !== contentOf(toolCallId)) violate(`made/${toolCallId} is not whole`);
      const text = JSON.stringify(result) ?? "";
      const isDone = !isError && /^"(Wrote|\d+ replacement)/.test(text);
      if (isDone && (count === 0 || !listed.has(toolCallId)))
        violate(
          `${toolCallId} was reported as made, is made ${count} times and ${listed.has(toolCallId) ? "" : "not "}listed`,
        );
      if (REFUSED.test(text) && (count > 0 || listed.has(toolCallId)))
        violate(
          `${toolCallId} was refused, is made ${count} times and ${listed.has(toolCallId) ? "" : "not "}listed`,
        );
      if (!CHANGED.test(text)) continue;
      this.#world.reached.add("an interrupted change was refused");
      if (toolName === `${PREFIX}write_file`)
        violate(`${toolCallId} was refused, and nobody else changed its file`);
    }
  }
}

/** Nobody hears of what a dead process does. */
function die(process: SimProcess): Promise<never> {
  process.world.note(() => `${process.name} crashes at the disk`);
  process.crash();
  return new Promise(() => {});
}

function contentOf(toolCallId: string): string {
  return `content of ${toolCallId}\n`.repeat(4);
}

/** One world of ten. Not drawn, so that the other seeds keep their worlds. */
export function hasFiles(seed: number): boolean {
  return seed % 10 === 8;
}

export function drawFiles(
  world: World,
  seed: number,
  planted: PlantedFault | undefined,
): SimFiles | undefined {
  return hasFiles(seed) ? new SimFiles(world, planted?.files) : undefined;
}
