import { beforeEach, describe, expect, it } from "vitest";
import type { Resumption } from "../../run/resume.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Write } from "../../storage/storage.ts";
import { CALLS } from "../../storage/thread-tables.ts";
import { update } from "../../storage/writes.ts";
import { CallJournal, type PlacedStep } from "./call-journal.ts";

const part = (toolCallId: string) => ({
  type: "tool-invocation" as const,
  toolInvocation: { state: "call" as const, toolCallId, toolName: "pay", args: {} },
});
const PLACE = {
  step: { message: { id: "answer" }, stepNumber: 1, parts: [part("a"), part("b")] },
  messageStep: 0,
} as unknown as PlacedStep;
const intent = (toolCallId: string, position: number) => ({
  toolCallId,
  toolName: "pay",
  args: {},
  position,
});
const open = (toolCallId: string) => ({
  toolCallId,
  toolName: "pay",
  args: {},
  requiresApproval: true,
  resumeSchema: "{}",
});
const RESUMED = { calls: [] } as unknown as Resumption;
let storage: InMemoryStorage;

beforeEach(async () => {
  storage = new InMemoryStorage();
  await storage.init();
});

const commit = (writes: Write[]) => storage.commit(writes);
const rows = async () => {
  const all = await storage.select({ table: CALLS, orderBy: [{ column: "tool_call_id" }] });
  return all.map((row) => `${row.tool_call_id} ${row.state}`);
};

describe("the journal of a run's calls", () => {
  it("records calls that are about to run in the run's own row, without rows of their own", () => {
    const journal = new CallJournal("run", "t");
    const { openStep, writes } = journal.start(PLACE, [intent("a", 0), intent("b", 1)]);
    expect(openStep).toMatchObject({ messageId: "answer", messageStep: 0, started: ["a", "b"] });
    expect(writes).toEqual([]);
    expect(journal.isOpen).toBe(true);
  });

  it("marks calls as started that may have waited before the run was taken over", async () => {
    const journal = new CallJournal("run", "t", RESUMED);
    await commit(journal.start(PLACE, [intent("a", 0)]).writes);
    expect(await rows()).toEqual(["a started"]);
  });

  it("keeps the outcome of a call until its step is stored", async () => {
    const journal = new CallJournal("run", "t");
    journal.start(PLACE, [intent("a", 0)]);
    expect(journal.close()).toEqual([]);
    await commit([journal.recordOutcome("a", { kind: "result", result: 1 })]);
    expect(await rows()).toEqual(["a done"]);
    await commit(journal.close());
    journal.closed();
    expect(await rows()).toEqual([]);
    expect(journal.isOpen).toBe(false);
    expect(journal.close()).toEqual([]);
  });

  it("keeps only the calls that wait", async () => {
    const journal = new CallJournal("run", "t");
    await commit([journal.recordOutcome("a", { kind: "result", result: 1 })]);
    await commit(journal.wait(PLACE, [open("b")]));
    expect(await rows()).toEqual(["b waiting"]);
  });

  it("lets a call that has run wait", async () => {
    const journal = new CallJournal("run", "t", RESUMED);
    await commit(journal.start(PLACE, [intent("a", 0)]).writes);
    await commit(journal.wait(PLACE, [open("a")]));
    expect(await rows()).toEqual(["a waiting"]);
  });

  it("does not undo a decision that came before the run looked", async () => {
    const journal = new CallJournal("run", "t");
    await commit(journal.wait(PLACE, [open("a")]));
    await commit([update(CALLS, { where: { tool_call_id: "a" }, set: { state: "decided" } })]);
    await commit(journal.wait(PLACE, [open("a")]));
    expect(await rows()).toEqual(["a decided"]);
  });

  it("keeps what the calls of a step saved until the step is stored, also for the next owner", () => {
    const journal = new CallJournal("run", "t");
    journal.start(PLACE, [intent("a", 0), intent("b", 1)]);
    journal.saveProgress("a", { at: 1 });
    const both = { a: { at: 2 }, b: ["x"] };
    journal.saveProgress("b", both.b);
    expect(journal.saveProgress("a", both.a)).toMatchObject({ merge: { open_step: { progress: both } } });
    const calls = [
      { toolCallId: "a", progress: both.a },
      { toolCallId: "b", progress: both.b },
    ];
    const resumed = { responseId: "answer", responseSteps: 0, parts: [], calls } as unknown as Resumption;
    const next = new CallJournal("run", "t", resumed);
    expect(next.start(PLACE, [intent("a", 0)]).openStep).toMatchObject({ progress: both });
    next.closed();
    expect(next.start(PLACE, [intent("c", 0)]).openStep).not.toHaveProperty("progress");
  });

  it("refuses progress of a call that is over, and progress that is too large", () => {
    const journal = new CallJournal("run", "t");
    journal.start(PLACE, [intent("a", 0)]);
    expect(() => journal.saveProgress("a", "x".repeat(70_000))).toThrow(/at most 65536/);
    journal.closed();
    expect(() => journal.saveProgress("a", 1)).toThrow(/is over/);
  });
});
