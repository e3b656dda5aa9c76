import { setTimeout as delay } from "node:timers/promises";
import type { Row } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import type { ChildHandle } from "./child-handle.ts";
import { NOTIFICATIONS } from "./kill-points.ts";
import type { Session } from "./session.ts";
import { HANGS_AFTER_MS } from "./store-factory.ts";

interface Notice {
  recordId?: string;
  notificationIds?: string[];
}

const SOURCES = ["github", "github", "email", "later", "notes"] as const;
const PRIORITIES = ["urgent", "high", "medium", "low"] as const;

/** The inboxes of a session's threads: what was filed there, and what must be true of it. */
export class Inboxes {
  readonly #session: Session;
  #sent = 0;
  /** Notifications that were acknowledged, by the record they went into. */
  readonly acknowledged: Map<string, number> = new Map();

  constructor(session: Session) {
    this.#session = session;
  }

  get sent(): number {
    return this.#sent;
  }

  /** Files one to three notifications; the answer counts only if it comes. */
  async notify(child: ChildHandle, threadId: string): Promise<void> {
    const { random } = this.#session;
    const notifications = Array.from({ length: random.between(1, 3) }, () => ({
      source: random.pick(SOURCES),
      kind: "event",
      priority: random.pick(PRIORITIES),
      summary: `n${++this.#sent} happened`,
      ...(random.chance(0.4) && { dedupeKey: random.pick(["a", "b"]) }),
    }));
    const answer = await child.call({ do: "notify", threadId, notifications });
    if (!answer?.ok) return;
    for (const id of answer.records ?? []) this.acknowledged.set(id, (this.acknowledged.get(id) ?? 0) + 1);
  }

  /** I7: waits until nothing is due any more. */
  async rest(children: readonly ChildHandle[]): Promise<void> {
    const until = performance.now() + HANGS_AFTER_MS;
    for (let quiet = 0; quiet < 2;) {
      await this.#session.rest(children, () => true);
      const due = await this.#session.store.select({
        table: NOTIFICATIONS,
        where: { status: "pending", due_at: { ne: null } },
      });
      quiet = due.length === 0 ? quiet + 1 : 0;
      if (performance.now() > until)
        throw new Error(`After ${HANGS_AFTER_MS} ms ${due.length} records still wait: ${show(due[0])}`);
      await delay(20);
    }
  }

  /** What does not hold, in words. */
  async problems(): Promise<string[]> {
    const memory = (await this.#session.store.getStore("memory"))!;
    const full = new Map<string, StoredMessage[]>();
    const summaries = new Map<string, string[]>();
    for (const threadId of this.#session.threads) {
      for (const message of await memory.recentMessages({ threadId, limit: 100_000 })) {
        const signal = message.content.metadata?.["signal"] as
          | { metadata?: { notification?: Notice } }
          | undefined;
        const notice = signal?.metadata?.notification;
        if (notice?.recordId !== undefined)
          full.set(notice.recordId, [...(full.get(notice.recordId) ?? []), message]);
        for (const id of notice?.notificationIds ?? [])
          summaries.set(id, [...(summaries.get(id) ?? []), message.id]);
      }
    }
    const rows = await this.#session.store.select({ table: NOTIFICATIONS });
    const known = new Set(rows.map((row) => row["id"]));
    const strays = [...full.keys(), ...this.acknowledged.keys()].filter((id) => !known.has(id));
    return [
      ...strays.map((id) => `I7 record ${id} is not in the store`),
      ...rows.flatMap((row) => this.#recordProblems(row, full, summaries)),
      ...doubles(rows),
    ];
  }

  #recordProblems(
    row: Row,
    full: ReadonlyMap<string, StoredMessage[]>,
    summaries: ReadonlyMap<string, string[]>,
  ): string[] {
    const id = row["id"] as string;
    const told = full.get(id) ?? [];
    const inSummaries = summaries.get(id) ?? [];
    const count = row["coalesced_count"] as number;
    const problems: string[] = [];
    if (told.length > 1) problems.push(`delivered in full ${told.length} times`);
    if (inSummaries.length > count) problems.push(`in ${inSummaries.length} summaries, sent ${count} times`);
    if (count < (this.acknowledged.get(id) ?? 0))
      problems.push(`counts ${count}, and more were acknowledged`);
    const summary = row["summary_signal_id"];
    if (summary !== null && !inSummaries.includes(summary as string)) problems.push("its summary is missing");
    switch (row["status"]) {
      case "delivered":
      case "seen": {
        const [message] = told;
        if (!message || message.id !== row["delivered_signal_id"]) problems.push("its signal is missing");
        else if (!JSON.stringify(message.content.parts).includes(row["summary"] as string))
          problems.push("what was delivered is not what it says");
        break;
      }
      case "pending": {
        const waits = row["priority"] === "low" || row["priority"] === "medium";
        if (row["source"] !== "notes" && !(waits && summary !== null)) problems.push("lost");
        break;
      }
      default:
        problems.push("in a state that nobody asked for");
    }
    return problems.map((problem) => `I7 ${problem}: ${show(row)}`);
  }
}

/** I8: one pending record per key. */
function doubles(rows: readonly Row[]): string[] {
  const pending = rows.filter((row) => row["status"] === "pending" && row["dedupe_key"] !== null);
  const byKey = Map.groupBy(pending, (row) => show([row["thread_id"], row["source"], row["dedupe_key"]]));
  return [...byKey].filter(([, all]) => all.length > 1).map(([key]) => `I8 two pending records have ${key}`);
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
