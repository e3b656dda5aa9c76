import { beforeEach, describe, expect, it } from "vitest";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { type CallRow, CALLS, EVENTS, type RunRow, RUNS, ACTORS } from "../../storage/thread-tables.ts";
import { insert, update } from "../../storage/writes.ts";
import { insertActor } from "../hold/actor.ts";
import { readTaken } from "./resumption.ts";

let storage: InMemoryStorage;

beforeEach(async () => {
  storage = new InMemoryStorage();
  await storage.init();
  await storage.commit([insertActor("t", "r")]);
});

const call = (toolCallId: string) => ({
  type: "tool-invocation" as const,
  toolInvocation: { state: "call" as const, toolCallId, toolName: "pay", args: { to: toolCallId } },
});
const run = (change: Partial<RunRow> = {}) =>
  insert(RUNS, {
    id: "run",
    thread_id: "t",
    resource_id: "r",
    agent_id: "me",
    fence: 1,
    state: "running",
    attempts: 1,
    options: { maxSteps: 3 },
    step: 2,
    next: "continue",
    first_seq: 1,
    started_at: 0,
    ...change,
  });
const callRow = (toolCallId: string, change: Partial<CallRow>) =>
  insert(CALLS, {
    run_id: "run",
    tool_call_id: toolCallId,
    thread_id: "t",
    tool_name: "pay",
    position: 0,
    ...change,
  });
const read = () => readTaken(storage, { threadId: "t", runId: "run" });

describe("a run that is taken over", () => {
  it("is not there when the store has no run of that id", async () => {
    expect(await read()).toBeUndefined();
  });

  it("continues with its options, after its stored steps", async () => {
    await storage.commit([run({ response_id: "answer", response_steps: 1 })]);
    expect((await read())!.resumption).toMatchObject({
      runId: "run",
      options: { maxSteps: 3 },
      step: 2,
      next: "continue",
      responseId: "answer",
      begun: false,
      abort: false,
      calls: [],
      parts: [],
      responseSteps: 2,
    });
  });

  it("knows that it was asked to stop", async () => {
    await storage.commit([run(), update(ACTORS, { where: { thread_id: "t" }, set: { abort_run: "run" } })]);
    expect((await read())!.resumption.abort).toBe(true);
  });

  it.each([
    ["the actor's number", 9, 4, 9],
    ["the number after the last event", 2, 4, 5],
  ])("numbers its events from %s, whichever is greater", async (_, nextSeq, last, expected) => {
    await storage.commit([
      run(),
      update(ACTORS, { where: { thread_id: "t" }, set: { next_seq: nextSeq } }),
      insert(EVENTS, { thread_id: "t", run_id: "run", first: 1, last, chunks: [], created_at: 0 }),
    ]);
    expect((await read())!.nextSeq).toBe(expected);
  });

  it("has the calls that were about to run, and what the journal knows of the others", async () => {
    const openStep = {
      messageId: "answer",
      messageStep: 0,
      parts: [call("a"), call("b")],
      started: ["a", "b"],
    };
    const outcome = { kind: "result", result: 42 };
    await storage.commit([
      run({ open_step: openStep, response_id: "answer" }),
      callRow("a", { state: "done", outcome: outcome as never }),
    ]);
    const { resumption } = (await read())!;
    expect(resumption.calls.map(({ toolCallId, state }) => `${toolCallId} ${state}`)).toEqual([
      "a done",
      "b started",
    ]);
    expect(resumption.calls[0]!.outcome).toMatchObject(outcome);
    expect(resumption.calls[1]).toMatchObject({ toolName: "pay", args: { to: "b" }, outcome: undefined });
    // The open step is stored again when it is whole, in its own place.
    expect(resumption.parts).toEqual(openStep.parts);
    expect(resumption.responseSteps).toBe(0);
  });

  it("finds a step that waits where the journal says", async () => {
    await storage.commit([
      run({ response_id: "older", response_steps: 5 }),
      callRow("a", { state: "waiting", requires_approval: 1, message_id: "answer", message_step: 1 }),
    ]);
    const { resumption } = (await read())!;
    expect(resumption.responseId).toBe("answer");
    expect(resumption.responseSteps).toBe(1);
    expect(resumption.calls).toMatchObject([
      { state: "waiting", requiresApproval: true, decision: undefined },
    ]);
  });
});
