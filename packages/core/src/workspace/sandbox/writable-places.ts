import type { System } from "../../system.ts";
import { createMasks, settled } from "./git-protection.ts";
import { removeUnused } from "./machine.ts";
import { PlantedRepositories } from "./planted-repositories.ts";

/** A directory, and how many commands that can change it run. */
interface Place {
  planted: PlantedRepositories;
  commands: number;
  remembered?: Promise<void>;
}

/** The directories that commands can change from inside bubblewrap: what is put there for them, and checked after them. */
export class WritablePlaces {
  readonly #system: System;
  readonly #places = new Map<string, Place>();
  /** What to remove when no command runs. */
  readonly #masks = new Map<string, string | null>();
  #commands = 0;

  constructor(system: System) {
    this.#system = system;
  }

  /** Called before a command. Commands that run at the same time share what was there before the first of them. */
  async begin(paths: readonly string[]): Promise<void> {
    this.#commands++;
    try {
      await Promise.all(paths.map((path) => this.#enter(path)));
      for (const path of paths) for (const [mask, text] of createMasks(path)) this.#masks.set(mask, text);
    } catch (error) {
      this.end(paths);
      throw error;
    }
  }

  #enter(path: string): Promise<void> {
    const place = this.#places.get(path) ?? {
      planted: new PlantedRepositories(path, this.#system),
      commands: 0,
    };
    this.#places.set(path, place);
    if (place.commands++ === 0) place.remembered = place.planted.remember();
    return place.remembered!;
  }

  /** Called when nothing of a command is left. Returns what a person should know. */
  async check(paths: readonly string[]): Promise<string | undefined> {
    const warnings = await Promise.all(paths.map((path) => this.#places.get(path)!.planted.check()));
    return warnings.filter(Boolean).join(" ") || undefined;
  }

  /** Called once for every `begin`. */
  end(paths: readonly string[]): void {
    for (const path of paths) this.#places.get(path)!.commands--;
    if (--this.#commands > 0) return;
    const unused = settled(this.#masks, this.#system.now());
    removeUnused(unused);
    for (const path of unused.keys()) this.#masks.delete(path);
  }

  /** Called when no command runs any more. */
  close(): void {
    removeUnused(this.#masks);
    this.#masks.clear();
  }
}
