import type { AgentName } from "./sim-app.ts";
import type { Random } from "./random.ts";
import type { SimThread } from "./ledger.ts";
import type { SimProcess } from "./sim-process.ts";

/** How the inboxes of a world work: who dispatches, and for how long records are gathered. */
export interface SimInbox {
  batchWindow: number;
  dispatches(slot: number): boolean;
}

/** A notification that was sent, and what its sender was told. */
export interface SentNotification {
  token: string;
  thread: SimThread;
  agent: AgentName;
  source: string;
  process: SimProcess;
  /** The sender asked not to wake an idle thread. */
  isQuiet: boolean;
  outcome: "pending" | "accepted" | "rejected";
  recordId?: string;
}

/** What the agents' delivery policy says about some sources; the built-in one decides about the others. */
export const POLICY = { notes: "persist", spam: "discard", later: "defer", queue: "queue" } as const;
export const SOURCES: readonly string[] = ["github", "github", "github", "email", ...Object.keys(POLICY)];

/** Half of the worlds have notifications, and in each of these at least one process dispatches them. */
export function drawInbox(random: Random, processes: number): SimInbox | undefined {
  if (random.chance(0.5)) return undefined;
  const first = random.between(0, processes - 1);
  const slots = Array.from({ length: processes }, (_, slot) => slot === first || random.chance(0.6));
  return {
    batchWindow: random.pick([0, 5_000, 60_000]),
    dispatches: (slot) => slots[slot] ?? false,
  };
}
