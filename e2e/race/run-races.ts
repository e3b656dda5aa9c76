import { Agent } from "@selvedge/core/agent";
import { Mastra } from "@selvedge/core";
import type { Storage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { ACTORS, MAILBOX } from "../kill/kill-points.ts";
import { observedStorage } from "../kill/observed-storage.ts";
import { HANGS_AFTER_MS } from "../kill/store-factory.ts";

/** When the second message is sent: at an operation of the store, or so many turns after the model's last word. */
export type Moment = { operation: number } | { turns: number };

export interface RaceReport {
  races: number;
  /** What became of the second messages. */
  actions: Set<string>;
  problems: string[];
}

const SENDS = ["sendMessage", "queueMessage", "sendSignal"] as const;

/** Sends a message at each of the moments while a run ends. Every message must be stored once and answered. */
export async function runRaces(options: {
  store: Storage;
  /** The same data, opened by another process, which sends the second messages. */
  elsewhere?: Storage;
  moments: readonly Moment[];
  onRound?: (round: number) => void;
}): Promise<RaceReport> {
  const report: RaceReport = { races: 0, actions: new Set(), problems: [] };
  const world = openWorld(options.store);
  const other = options.elsewhere && openWorld(options.elsewhere);
  for (const moment of options.moments) {
    const { action, problem } = await race(world, other?.agent ?? world.agent, report.races++, moment);
    report.actions.add(action);
    if (problem) report.problems.push(problem);
    options.onRound?.(report.races);
  }
  await other?.mastra.close();
  await world.mastra.close();
  return report;
}

type World = ReturnType<typeof openWorld>;

/** An agent whose model says when it has said its last word, on a store that calls back at a chosen operation. */
function openWorld(store: Storage) {
  let left = Number.POSITIVE_INFINITY;
  let onOperation = () => {};
  let onLastWord = () => {};
  const tick = (): void => {
    if (left-- === 0) onOperation();
  };
  const storage = observedStorage(store, { select: tick, beforeCommit: tick, afterCommit: tick });
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
  return {
    agent,
    storage,
    mastra: new Mastra({ agents: { agent }, storage }),
    atOperation(operation: number, callback: () => void): void {
      left = operation;
      onOperation = callback;
    },
    atLastWord(callback: () => void): void {
      onLastWord = callback;
    },
  };
}

/** Runs a thread, sends a second message at the given moment, and returns what became of it. */
async function race(
  { agent, storage, atOperation, atLastWord }: World,
  sender: World["agent"],
  number: number,
  moment: Moment,
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
        ? sender.sendSignal({ type: "notification", contents: "second" }, target).admitted
        : sender[how]("second", target).admitted,
    );
  };
  atOperation("operation" in moment ? moment.operation : Number.POSITIVE_INFINITY, send);
  atLastWord(async () => {
    if (!("turns" in moment)) return;
    for (let turn = 0; turn < moment.turns; turn++) await Promise.resolve();
    send();
  });
  await agent.sendMessage("first", target).admitted;
  // Where the run has fewer operations than asked for, the message arrives after it.
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
  const until = performance.now() + HANGS_AFTER_MS;
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
