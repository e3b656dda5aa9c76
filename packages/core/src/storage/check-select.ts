import { AgentError } from "../errors.ts";
import { columnType } from "./row-codec.ts";
import type { Select } from "./storage.ts";

/** What every adapter refuses in a select, before it reads. */
export function checkSelect({ table, orderBy, limit, offset, columns }: Select): void {
  if (orderBy) for (const { column } of orderBy) columnType(table, column);
  if (columns) for (const column of columns) columnType(table, column);
  checkCount("limit", limit);
  checkCount("offset", offset);
}

function checkCount(name: string, value: number | undefined): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && value >= 0))
    throw new AgentError("invalid-argument", `${name} must be 0 or more, got ${String(value)}`);
}
