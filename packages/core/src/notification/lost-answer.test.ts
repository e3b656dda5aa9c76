import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { InMemoryDriver } from "../storage/in-memory-driver.ts";
import { NOTIFICATIONS } from "../storage/notification-table.ts";
import { type Commit, type CommitOutcome, type Row, type Select, Storage } from "../storage/storage.ts";
import { MAILBOX } from "../storage/thread-tables.ts";
import { CI, inbox, TARGET, told } from "./__fixtures__/inbox.ts";

/** Takes a signal about a record and calls it a failure. The next read of records fails too. */
class ForgetfulDriver extends InMemoryDriver {
  isArmed = false;
  #failsNext = false;

  override async commit(commits: readonly Commit[]): Promise<CommitOutcome[]> {
    const outcomes = await super.commit(commits);
    const tables = new Set(commits.flatMap(({ writes }) => writes.map(({ table }) => table.name)));
    if (!this.isArmed || !tables.has(MAILBOX.name) || !tables.has(NOTIFICATIONS.name)) return outcomes;
    this.isArmed = false;
    this.#failsNext = true;
    return commits.map(() => ({ error: new AgentError("storage-failed", "The answer was lost.") }));
  }

  override select(queries: readonly Select[]): Promise<Row[][]> {
    if (!this.#failsNext || queries.every(({ table }) => table.name !== NOTIFICATIONS.name))
      return super.select(queries);
    this.#failsNext = false;
    return Promise.reject(new AgentError("storage-failed", "The store could not be read."));
  }
}

describe("a summary that was stored and called a failure", () => {
  it("is not sent again, even if nobody can look at once whether it was stored", async () => {
    const system = virtualSystem();
    const driver = new ForgetfulDriver("forgetful");
    const storage = new Storage(driver, { id: "forgetful", system });
    const { agent, hold, list } = inbox({ system, notifications: { batchWindow: 0 } }, { storage });
    const go = await hold();
    driver.isArmed = true;
    await agent.sendNotificationSignal({ ...CI, priority: "medium" }, TARGET);
    await go();
    expect(driver.isArmed).toBe(false);
    const [record] = await list();
    expect(record).toMatchObject({ deliveryAttempts: 0, status: "pending" });
    expect(record!.summaryAt).toBeUndefined();
    expect(await told(storage)).toHaveLength(1);
  });
});
