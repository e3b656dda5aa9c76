import type { Connection } from "./connection.ts";
import type { Sql } from "./sql-writer.ts";

/** A row by the names of its columns. */
export type Found = Record<string, string | number | null>;

/**
 * Reads that depend on one another: yields what to read next, in one round trip, and receives the rows of each. A file
 * answers at once and a server later, so that whoever has the connection carries the plan out.
 */
export type Plan<Value> = Generator<readonly Sql[], Value, readonly Found[][]>;

/** Carries a plan out on a file. */
export function read<Value>(connection: Connection, plan: Plan<Value>): Value {
  let step = plan.next();
  while (!step.done) step = plan.next(step.value.map(({ text, params }) => connection.all(text, params)));
  return step.value;
}
