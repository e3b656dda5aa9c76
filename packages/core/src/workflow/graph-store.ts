import { createHash } from "node:crypto";
import type { SerializedStepGraph } from "@selvedge/protocol";
import type { Storage } from "../storage/storage.ts";
import { insert } from "../storage/writes.ts";
import { WORKFLOW_GRAPHS } from "./workflow-tables.ts";

/** The graphs that runs were started with, by a hash of their contents. Each is stored once. */
export class GraphStore {
  readonly #storage: Storage;
  readonly #ids = new WeakMap<SerializedStepGraph, string>();

  constructor(storage: Storage) {
    this.#storage = storage;
  }

  /** Returns the id of the graph when it is stored. */
  async store(graph: SerializedStepGraph): Promise<string> {
    const known = this.#ids.get(graph);
    if (known !== undefined) return known;
    const id = createHash("sha256").update(JSON.stringify(graph)).digest("base64url");
    await this.#storage.commit([insert(WORKFLOW_GRAPHS, { id, graph }, "ignore")]);
    this.#ids.set(graph, id);
    return id;
  }
}
