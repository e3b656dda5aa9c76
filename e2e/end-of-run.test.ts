import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core";
import {
  type CommitResult,
  InMemoryStorage,
  type Select,
  type Storage,
  type Write,
} from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { ACTORS, MAILBOX } from "./kill/kill-points.ts";

/** Calls back at a chosen operation of a store: the places between two of them are where a message can fall through. */
class Moments {
  #left = Number.POSITIVE_INFINITY;
  #callback: () => void = () => {};

  arm(operation: number, callback: () => void): void {
    this.#left = operation;
    this.#callback = callback;
  }

  tick(): void {
    if (this.#left-- === 0) this.#callback();
  }
}

class WatchedMemory extends InMemoryStorage {
  readonly moments = new Moments();

  override async select<R extends object>(query: Select<R>): Promise<R[]> {
    this.moments.tick();
    return super.select(query);
  }

  override async commit(writes: readonly Write[]): Promise<CommitResult> {
    this.moments.tick();
    const result = await super.commit(writes);
    this.moments.tick();
    return result;
  }
}

class WatchedFile extends LibSQLStore {
  readonly moments = new Moments();

  override async select<R extends object>(query: Select<R>): Promise<R[]> {
    this.moments.tick();
    return super.select(query);
  }

  override async commit(writes: readonly Write[]): Promise<CommitResult> {
    this.moments.tick();
    const result = await super.commit(writes);
    this.moments.tick();
    return result;
  }
}

/** An agent whose model says when it has said its last. */
function app(storage: Storage & { moments: Moments }) {
  let onLastWord = () => {};
  const model = scriptedModel(() => ({ text: ["One ", "moment."] }));
  const doStream = model.doStream.bind(model);
  model.doStream = async (options) => {
    const result = await doStream(options);
    const stream = result.stream.pipeThrough(
      new TransformStream({
        transform(part, controller) {
          controller.enqueue(part);
          if (part.type === "finish") onLastWord();
        },
      }),
    );
    return { ...result, stream };
  };
  const agent = new Agent({
    id: "agent",
    name: "Agent",
    instructions: "Answer.",
    model,
    memory: new Memory({ storage }),
  });
  const mastra = new Mastra({ agents: { agent }, storage });
  return { agent, storage, mastra, atLastWord: (callback: () => void) => (onLastWord = callback) };
}

const SENDS = ["sendMessage", "queueMessage", "sendSignal"] as const;

/** Runs a thread, sends a second message at the given moment, and tells what became of it. */
async function race(
  { agent, storage, atLastWord }: ReturnType<typeof app>,
  number: number,
  moment: { operation: number } | { turns: number },
): Promise<{ action: string; problem?: string }> {
  const target = { threadId: `thread-${number}`, resourceId: "user" };
  const how = SENDS[number % SENDS.length]!;
  const { promise: sent, resolve: onSent } = Promise.withResolvers<{ action: string }>();
  let done = false;
  const send = (): void => {
    if (done) return;
    done = true;
    onSent(
      how === "sendSignal"
        ? agent.sendSignal({ type: "notification", contents: "second" }, target).admitted
        : agent[how]("second", target).admitted,
    );
  };
  storage.moments.arm("operation" in moment ? moment.operation : Number.POSITIVE_INFINITY, send);
  atLastWord(async () => {
    if (!("turns" in moment)) return;
    for (let turn = 0; turn < moment.turns; turn++) await Promise.resolve();
    send();
  });
  await agent.sendMessage("first", target).admitted;
  // Where the run had fewer operations than asked for, the message comes after it.
  await idle(storage, target.threadId, () => send());
  const { action } = await sent;
  await idle(storage, target.threadId);
  const memory = (await storage.getStore("memory"))!;
  const history = await memory.recentMessages({ threadId: target.threadId, limit: 100 });
  const texts = history
    .filter((message) => message.role !== "assistant")
    .map((message) => JSON.stringify(message.content.parts));
  const times = texts.filter((text) => text.includes("second")).length;
  const answered = history.at(-1)?.role === "assistant";
  if (times === 1 && answered) return { action };
  const problem = `${how} at ${JSON.stringify(moment)} (${action}): stored ${times} times, ${answered ? "answered" : "not answered"}`;
  return { action, problem };
}

async function idle(storage: Storage, threadId: string, atRest?: () => void): Promise<void> {
  const until = performance.now() + 5_000;
  for (;;) {
    await new Promise((resolve) => setImmediate(resolve));
    const [[actor], letters] = await Promise.all([
      storage.select({ table: ACTORS, where: { thread_id: threadId } }),
      storage.count({ table: MAILBOX, where: { thread_id: threadId } }),
    ]);
    if (actor?.["run_state"] === "idle" && letters === 0) return atRest?.();
    if (performance.now() > until)
      throw new Error(
        `Thread ${threadId} is ${JSON.stringify(actor?.["run_state"])} with ${letters} messages waiting.`,
      );
  }
}

/** Sends a message at each of the moments. All must be there in the end, and some must have come in time to join the run. */
async function races(
  world: ReturnType<typeof app>,
  moments: readonly Parameters<typeof race>[2][],
): Promise<{ lost: string[]; actions: Set<string> }> {
  const lost: string[] = [];
  const actions = new Set<string>();
  for (const [number, moment] of moments.entries()) {
    const { action, problem } = await race(world, number, moment);
    actions.add(action);
    if (problem) lost.push(problem);
  }
  await world.mastra.close();
  return { lost, actions };
}

describe("a message that comes while a run ends", () => {
  it(
    "is never lost, whatever turn of the event loop it comes in (1,200 sends)",
    { timeout: 60_000 },
    async () => {
      const moments = Array.from({ length: 1_200 }, (_, number) => ({ turns: number % 200 }));
      const { lost, actions } = await races(app(new WatchedMemory()), moments);
      expect(lost).toEqual([]);
      expect(actions).toEqual(new Set(["deliver", "queue", "wake"]));
    },
  );

  it(
    "is never lost, between whatever two operations of the store it comes (800 sends)",
    { timeout: 60_000 },
    async () => {
      const moments = Array.from({ length: 800 }, (_, number) => ({ operation: number % 40 }));
      const { lost, actions } = await races(app(new WatchedMemory()), moments);
      expect(lost).toEqual([]);
      expect(actions).toEqual(new Set(["deliver", "queue", "wake"]));
    },
  );

  it("is never lost on a file (120 sends)", { timeout: 60_000 }, async () => {
    const folder = mkdtempSync(join(tmpdir(), "selvedge-end-of-run-"));
    const store = new WatchedFile({ url: `file:${join(folder, "threads.db")}` });
    const moments = Array.from({ length: 120 }, (_, number) =>
      number % 2 ? { operation: number % 40 } : { turns: number % 100 },
    );
    const { lost, actions } = await races(app(store), moments);
    expect(lost).toEqual([]);
    expect(actions).toEqual(new Set(["deliver", "queue", "wake"]));
    rmSync(folder, { recursive: true, force: true });
  });
});
