import { describe, expect, it } from "vitest";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import {
  type Commit,
  type CommitOutcome,
  type Row,
  type Select,
  Storage,
  type StorageDriver,
  type Where,
} from "../storage/storage.ts";
import type { Table } from "../storage/table.ts";
import { virtualSystem, type VirtualSystem } from "@selvedge/testing";
import { CI, inbox, TARGET, told } from "./__fixtures__/inbox.ts";

/** A process's way to a shared store. At one commit the process dies: before it took effect, or right after. */
class MortalDriver implements StorageDriver {
  readonly #shared: InMemoryStorage;
  readonly #name: string;
  readonly #dead: Set<string>;
  #left: number;
  readonly #after: boolean;

  constructor(shared: InMemoryStorage, name: string, dead: Set<string>, left: number, after: boolean) {
    this.#shared = shared;
    this.#name = name;
    this.#dead = dead;
    this.#left = left;
    this.#after = after;
  }

  get dead(): boolean {
    return this.#dead.has(this.#name);
  }

  async migrate(): Promise<void> {}
  async addTables(): Promise<void> {}

  ownerId(): string {
    return this.#name;
  }

  isOwnerDead(owner: string): boolean {
    return this.#dead.has(owner);
  }

  select(queries: readonly Select[]): Promise<Row[][]> {
    return this.dead ? never() : Promise.all(queries.map((query) => this.#shared.select(query)));
  }

  count(query: { table: Table; where?: Where }): Promise<number> {
    return this.dead ? never() : this.#shared.count(query);
  }

  async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    if (this.dead) return never();
    const last = this.#left-- === 0;
    if (last) this.#dead.add(this.#name);
    if (last && !this.#after) return never();
    const outcomes = await this.#shared.commitAll(commits);
    return last ? never() : outcomes;
  }

  watch(): () => void {
    return () => {};
  }

  async close(): Promise<void> {}
}

class Mortal extends Storage {
  readonly driver: MortalDriver;

  constructor(
    shared: InMemoryStorage,
    name: string,
    dead: Set<string>,
    system: VirtualSystem,
    left: number,
    after: boolean,
  ) {
    const driver = new MortalDriver(shared, name, dead, left, after);
    super(driver, { id: name, system });
    this.driver = driver;
  }

  get dead(): boolean {
    return this.driver.dead;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}

const MINUTE = 60_000;
const SENDS = [
  { ...CI, priority: "urgent" as const, summary: "urgent" },
  { ...CI, priority: "medium" as const, summary: "deferred", source: "later" },
  { ...CI, priority: "low" as const, summary: "low", dedupeKey: "k" },
  { ...CI, priority: "low" as const, summary: "low again", dedupeKey: "k" },
];

/** One process sends and dispatches until it dies at its nth commit; another opens the same store and carries on. */
async function crashAt(commit: number, after: boolean) {
  const system = virtualSystem();
  const shared = new InMemoryStorage({ system });
  const dead = new Set<string>();
  const open = (name: string, left: number) => {
    const storage = new Mortal(shared, name, dead, system, left, after);
    const notifications = { deliveryPolicy: { sources: { later: "defer" as const } } };
    const app = inbox({ system, notifications }, { storage });
    const mastra = new Mastra({
      agents: { agent: app.agent },
      storage,
      system,
      logger: false,
      notifications: { dispatch: { enabled: true } },
    });
    return { ...app, mastra, storage };
  };
  const first = open("first", commit);
  let acknowledged = 0;
  void (async () => {
    await first.mastra.start();
    for (const one of SENDS) {
      await first.agent.sendNotificationSignal(one, TARGET);
      acknowledged++;
    }
  })();
  await system.advance(10 * MINUTE);
  const died = first.storage.dead;
  dead.add("first");
  const second = open("second", Number.POSITIVE_INFINITY);
  await system.until(second.mastra.start());
  await system.advance(10 * MINUTE);
  await second.idle();
  const domain = (await shared.getStore("notifications"))!;
  const records = await domain.listNotifications({ threadId: TARGET.threadId });
  return { died, acknowledged, records, told: await told(shared) };
}

describe("a process that dies at any commit while it sends and dispatches", () => {
  it.each([
    ["before", false],
    ["right after", true],
  ])("%s it took effect leaves every record delivered once, and one per key", async (_, after) => {
    let points = 0;
    for (let commit = 0; ; commit++) {
      const { died, acknowledged, records, told: heard } = await crashAt(commit, after);
      const place = `commit ${commit} ${after ? "after" : "before"}`;
      const summaries = records.map(({ summary }) => summary);
      // Stored means durable: what the caller heard of is there.
      const expected = ["urgent", "deferred", "low"].slice(0, Math.min(acknowledged, 3));
      for (const text of expected)
        expect(
          summaries.some((one) => one.startsWith(text)),
          `${place}: ${text}`,
        ).toBe(true);
      expect(records.filter(({ dedupeKey }) => dedupeKey === "k").length, place).toBeLessThanOrEqual(1);
      for (const record of records) {
        const full = heard.filter((one) => one === `notification ${record.summary}`);
        const isLow = record.priority === "low";
        expect(full, `${place}: ${record.summary} ${record.status}`).toHaveLength(isLow ? 0 : 1);
        expect(record.status, place).toBe(isLow ? "pending" : "delivered");
        if (isLow) expect(record.summarySignalId, place).toBeDefined();
      }
      const lows = records.filter(({ priority }) => priority === "low").length;
      expect(heard.filter((one) => one.startsWith("notification-summary")).length, place).toBe(lows);
      if (!died) break;
      points++;
    }
    expect(points).toBeGreaterThan(10);
  });
});
