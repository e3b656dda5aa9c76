import type { Domain } from "../storage/domain.ts";
import type { Storage } from "../storage/storage.ts";
import type { Table } from "../storage/table.ts";
import { insert, remove } from "../storage/writes.ts";
import type { System } from "../system.ts";
import type { WorkflowDefinition } from "./definition.ts";

type DefinitionRow = { id: string; definition: unknown; created_at: number; updated_at: number };

const DEFINITIONS: Table<DefinitionRow> = {
  name: "selvedge_workflow_definitions",
  columns: { id: "text", definition: "json", created_at: "integer", updated_at: "integer" },
  key: ["id"],
  partition: "id",
  indexes: [],
};

/** A stored definition. */
export interface StoredDefinition extends WorkflowDefinition {
  createdAt: Date;
  updatedAt: Date;
}

/** The most definitions of a store. */
export const MAX_DEFINITIONS = 1000;

/** Workflows as data, for `storage.domain()`. */
export const DEFINITION_DOMAIN: Domain<DefinitionDomain> = {
  name: "workflow-definitions",
  version: 1,
  tables: [DEFINITIONS] as readonly object[] as Domain["tables"],
  open: (storage, system) => new DefinitionDomain(storage, system),
};

export class DefinitionDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  async list(): Promise<StoredDefinition[]> {
    const orderBy = [{ column: "created_at" }, { column: "id" }] as const;
    const rows = await this.#storage.select({ table: DEFINITIONS, orderBy, limit: MAX_DEFINITIONS });
    return rows.map(toDefinition);
  }

  async get(id: string): Promise<StoredDefinition | undefined> {
    const [row] = await this.#storage.select({ table: DEFINITIONS, where: { id }, limit: 1 });
    return row && toDefinition(row);
  }

  count(): Promise<number> {
    return this.#storage.count({ table: DEFINITIONS });
  }

  /** All or none of them. */
  async put(definitions: readonly WorkflowDefinition[]): Promise<void> {
    const now = Math.trunc(this.#system.now());
    const known = new Map((await this.list()).map(({ id, createdAt }) => [id, createdAt.getTime()]));
    const writes = definitions.map((definition) =>
      insert(
        DEFINITIONS,
        { id: definition.id, definition, created_at: known.get(definition.id) ?? now, updated_at: now },
        "update",
      ),
    );
    await this.#storage.commit(writes, { id: this.#system.newId() });
  }

  async remove(id: string): Promise<void> {
    await this.#storage.commit([remove(DEFINITIONS, { id })], { id: this.#system.newId() });
  }
}

function toDefinition({ definition, created_at, updated_at }: DefinitionRow): StoredDefinition {
  const times = { createdAt: new Date(created_at), updatedAt: new Date(updated_at) };
  return { ...(definition as WorkflowDefinition), ...times };
}
