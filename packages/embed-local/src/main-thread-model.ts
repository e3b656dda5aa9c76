import { sleep, type System } from "@selvedge/core/storage";
import { loadModel, type Model } from "./load-model.ts";
import type { Runner } from "./model-pool.ts";

/** The model on this thread, if no worker can be started. Yields between batches. */
export class MainThreadModel implements Runner {
  readonly #system: System;
  #model: Promise<Model> | undefined;

  constructor(system: System) {
    this.#system = system;
  }

  async run(texts: readonly string[]): Promise<Float32Array> {
    this.#model ??= loadModel();
    const model = await this.#model;
    await sleep(this.#system, 0);
    return model.embed(texts);
  }

  end(): void {
    this.#model = undefined;
  }
}
