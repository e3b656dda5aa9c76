import { SESSION_DOMAIN } from "@selvedge/core/agent-controller";
import { PROCESS_DOMAIN, WORKSPACE_DOMAIN } from "@selvedge/core/workspace";
import { MESSAGES, MESSAGE_STEPS, type Table, TABLES } from "@selvedge/core/storage";

function table(name: string): Table {
  const found = TABLES.find((one) => one.name === name);
  if (!found) throw new Error(`The store has no table ${name}.`);
  return found;
}

/** The tables the checks read. */
export const ACTORS: Table = table("selvedge_actors");
export const MAILBOX: Table = table("selvedge_mailbox");
export const SENDS: Table = table("selvedge_sends");
export const RUNS: Table = table("selvedge_runs");
export const CALLS: Table = table("selvedge_calls");
export const LANES: Table = table("selvedge_lanes");
export const OWNERS: Table = table("selvedge_owners");
export const EVENTS: Table = table("selvedge_events");
export const NOTIFICATIONS: Table = table("selvedge_notifications");
export const SESSIONS: Table = SESSION_DOMAIN.tables[0]!;
/** What threads changed in files. */
export const CHANGES: Table = WORKSPACE_DOMAIN.tables[1] as Table;
/** What commands they started. */
export const PROCESSES: Table = PROCESS_DOMAIN.tables[0] as Table;
export const THREAD_STATE: Table = table("selvedge_thread_state");
export { MESSAGES, MESSAGE_STEPS };
