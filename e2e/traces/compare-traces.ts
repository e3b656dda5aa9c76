import { SESSION_DOMAIN } from "@selvedge/core/agent-controller";
import { InMemoryStorage, OM_DOMAIN, type Storage } from "@selvedge/core/storage";
import { SCHEDULE_DOMAIN } from "@selvedge/core/schedules";
import { DEFINITION_DOMAIN, WORKFLOW_DOMAIN } from "@selvedge/core/workflows";
import { PROCESS_DOMAIN, WORKSPACE_DOMAIN } from "@selvedge/core/workspace";
import { LibSQLStore } from "@selvedge/libsql";
import { PostgresStore } from "@selvedge/pg";
import { simulate } from "@selvedge/testing/simulator";

/** Simulates each world on every store, and returns where a trace differs from the one in memory. */
export async function compareTraces(options: {
  connectionString: string;
  seeds: number;
  from: number;
  onRound?: (round: number) => void;
}): Promise<{ worlds: number; problems: string[] }> {
  const { connectionString, seeds, from, onRound } = options;
  const problems: string[] = [];
  for (let seed = from; seed < from + seeds; seed++) {
    // Once for the modules that are loaded on first use: that takes a while, and only the first time.
    await traceOf(seed, new InMemoryStorage());
    const expected = await traceOf(seed, new InMemoryStorage());
    const others = {
      libSQL: new LibSQLStore({ url: ":memory:" }),
      PostgreSQL: new PostgresStore({ connectionString, schemaName: `trace_${process.pid}_${seed}`, max: 2 }),
    };
    for (const [name, store] of Object.entries(others)) {
      const trace = await traceOf(seed, store);
      const length = Math.max(trace.length, expected.length);
      const at = Array.from({ length }).findIndex((_, line) => trace[line] !== expected[line]);
      if (at >= 0)
        problems.push(`seed ${seed}, line ${at} on ${name}: ${trace[at]}\nin memory: ${expected[at]}`);
    }
    onRound?.(seed - from + 1);
  }
  return { worlds: seeds, problems };
}

/** What happened, and what did not hold. */
async function traceOf(seed: number, store: Storage): Promise<string[]> {
  // A world does not create tables.
  await store.domain(SESSION_DOMAIN);
  await store.domain(OM_DOMAIN);
  await store.domain(WORKSPACE_DOMAIN);
  await store.domain(PROCESS_DOMAIN);
  await store.domain(SCHEDULE_DOMAIN);
  await store.domain(WORKFLOW_DOMAIN);
  await store.domain(DEFINITION_DOMAIN);
  const { trace, violation } = await simulate(seed, { store, trace: true });
  return [...trace!, violation?.message ?? "everything held"];
}
