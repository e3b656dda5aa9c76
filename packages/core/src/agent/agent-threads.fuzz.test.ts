import fc from "fast-check";
import { describe, it } from "vitest";
import { AgentError } from "../errors.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { MESSAGES, THREADS } from "../storage/tables.ts";
import { ACTORS, CALLS, LANES, MAILBOX, RUNS, SENDS } from "../storage/thread-tables.ts";
import { HERE, onThread, until } from "./__fixtures__/on-thread.ts";

const TABLES = [MESSAGES, THREADS, CALLS, LANES, MAILBOX, RUNS, SENDS];
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  maxDepth: 2,
});
const id = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom("t1", "r1", "x") },
  fc.string({ unit: "binary", maxLength: 300 }),
  anything,
);
const part = fc.record(
  {
    type: fc.constantFrom("text", "file", "image"),
    text: anything,
    data: anything,
    mediaType: anything,
    providerOptions: anything,
  },
  { requiredKeys: [] },
);
const contents = fc.oneof(fc.string({ unit: "binary" }), fc.array(part, { maxLength: 3 }), anything);
const branch = fc.oneof(
  fc.record(
    {
      behavior: fc.oneof(fc.constantFrom("deliver", "wake", "persist", "discard"), anything),
      attributes: anything,
      streamOptions: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);
const options = fc.oneof(
  fc.record(
    { threadId: id, resourceId: id, runId: id, ifActive: branch, ifIdle: branch, idempotencyKey: id },
    { requiredKeys: [] },
  ),
  fc
    .record({ ifActive: branch, ifIdle: branch, idempotencyKey: id }, { requiredKeys: [] })
    .map((more) => ({ ...HERE, ...more })),
  anything,
);
const message = fc.oneof(
  contents,
  fc.record(
    { contents, attributes: anything, metadata: anything, providerOptions: anything, id },
    { requiredKeys: [] },
  ),
);
const signal = fc.oneof(
  fc.record(
    {
      type: fc.oneof(fc.constantFrom("user", "state", "reactive", "system-reminder"), anything),
      tagName: anything,
      contents,
      attributes: anything,
      metadata: anything,
      createdAt: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);
const state = fc.oneof(
  fc.record(
    {
      id,
      cacheKey: id,
      mode: fc.oneof(fc.constantFrom("snapshot", "delta"), anything),
      contents,
      value: anything,
      delta: anything,
      attributes: anything,
      metadata: anything,
      tagName: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);
const approval = fc.oneof(
  fc.record(
    {
      threadId: id,
      resourceId: id,
      toolCallId: anything,
      approved: fc.oneof(fc.boolean(), anything),
      resumeData: anything,
      declineContext: anything,
    },
    { requiredKeys: [] },
  ),
  anything,
);

/** Calls a method; says whether it took the call, and complains about any error that is not ours. */
async function attempt(call: () => unknown): Promise<boolean> {
  try {
    const result = (await call()) as { admitted?: Promise<unknown>; unsubscribe?(): void } | undefined;
    await result?.admitted;
    result?.unsubscribe?.();
    return true;
  } catch (error) {
    if (AgentError.is(error)) return false;
    throw error;
  }
}

describe("what comes in from outside", () => {
  const { agent, storage } = onThread(() => "ok", { storage: new InMemoryStorage() });
  /** Whatever was accepted, on any thread, is done. */
  const quiet = () =>
    until(async () => {
      const waiting = await storage.count({ table: MAILBOX });
      const active = await storage.count({ table: ACTORS, where: { run_state: { ne: "idle" } } });
      return waiting + active === 0;
    });
  const count = async () => Promise.all(TABLES.map((table) => storage.count({ table })));

  it.each([
    ["sendMessage", fc.tuple(message, options)],
    ["queueMessage", fc.tuple(message, options)],
    ["sendSignal", fc.tuple(signal, options)],
    ["sendStateSignal", fc.tuple(state, options)],
    [
      "subscribeToThread",
      fc.tuple(
        fc.oneof(
          fc.record({ threadId: id, resourceId: id, after: anything }, { requiredKeys: [] }),
          anything,
        ),
      ),
    ],
    ["sendToolApproval", fc.tuple(approval)],
    [
      "listSuspendedRuns",
      fc.tuple(
        fc.oneof(
          fc.record(
            { threadId: id, page: anything, perPage: anything, fromDate: anything },
            { requiredKeys: [] },
          ),
          anything,
        ),
      ),
    ],
    [
      "approveToolCall",
      fc.tuple(
        fc.oneof(
          fc.record(
            { runId: id, toolCallId: anything, resumeData: anything, maxSteps: anything },
            { requiredKeys: [] },
          ),
          anything,
        ),
      ),
    ],
    [
      "declineToolCall",
      fc.tuple(
        fc.oneof(
          fc.record({ runId: id, toolCallId: anything, reason: anything }, { requiredKeys: [] }),
          anything,
        ),
      ),
    ],
  ] as const)("is taken by %s, or refused with an AgentError and nothing stored", async (name, args) => {
    await fc.assert(
      fc.asyncProperty(args as fc.Arbitrary<unknown[]>, async (given) => {
        const before = await count();
        const method = agent[name] as (...all: unknown[]) => unknown;
        if (await attempt(() => method.apply(agent, given))) return quiet();
        const after = await count();
        if (before.join() !== after.join())
          throw new Error(`Rows changed: ${before.join()} to ${after.join()}`);
      }),
      { numRuns: 150 },
    );
  });
});
