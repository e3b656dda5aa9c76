import type { Row } from "@selvedge/core/storage";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import type { Stage } from "./actions.ts";
import { checkNotifications, unrestOfInboxes } from "./check-notifications.ts";
import { TOKEN } from "./check-prompt.ts";
import type { SentMessage, SimThread } from "./ledger.ts";
import { checkSessions, unrestOfSessions } from "./check-sessions.ts";
import { TOOL_NAMES } from "./sim-tools.ts";
import { chunkText } from "./sim-reader.ts";
import { ACTORS, CALLS, EVENTS, LANES, MAILBOX, RUNS } from "./tables.ts";

/** The chunks a run ends with. */
const ENDS: ReadonlySet<string> = new Set(["finish", "error", "abort", "tripwire"]);

/** Tools whose work is counted outside. */
const OF_WORLD: ReadonlySet<string> = new Set([...TOOL_NAMES.filter((name) => name !== "missing"), "write"]);

/** What is done with a message that a run takes in. */
const ACTIONS_THAT_ECHO: ReadonlySet<unknown> = new Set(["wake", "deliver", "queue"]);

/** Everything that must hold when all has come to rest. */
export async function checkEnd(stage: Stage): Promise<void> {
  const histories = new Map<string, StoredMessage[]>();
  const memory = await stage.shared.getStore("memory");
  for (const { threadId } of stage.threads) {
    histories.set(threadId, (await memory!.recentMessages({ threadId, limit: 100_000 })) ?? []);
  }
  checkMessages(stage, histories);
  if (stage.sessions) await checkSessions(stage, stage.sessions, histories);
  await stage.files?.check(stage, histories);
  checkOrder(stage, histories);
  checkDecisions(stage);
  checkEffects(stage, histories);
  for (const thread of stage.threads) {
    const history = histories.get(thread.threadId)!;
    checkHistory(stage, thread, history);
    // The states that a copy began with are those of another lane.
    if (!thread.isCopy) await checkLanes(stage, thread, history);
    await checkNotifications(stage, thread, history);
    await checkLog(stage, thread);
    await checkRest(stage, thread);
  }
}

/** I1, I2, I11: what was acknowledged is there, once, in its own thread. */
function checkMessages({ ledger, world }: Stage, histories: Map<string, StoredMessage[]>): void {
  const places = new Map<string, string[]>();
  for (const [threadId, history] of histories) {
    for (const message of history) {
      if (message.role === "assistant") continue;
      for (const token of new Set(JSON.stringify(message.content.parts).match(TOKEN) ?? [])) {
        places.set(token, [...(places.get(token) ?? []), threadId]);
      }
    }
  }
  for (const message of ledger.messages) {
    const found = places.get(message.token) ?? [];
    const told = message.attempts.map(({ outcome, action }) => action ?? outcome).join(", ");
    if (found.length > 1) world.violate("I2", `${message.token} is stored ${found.length} times (${told})`);
    if (found.some((threadId) => threadId !== message.thread.threadId))
      world.violate("I11", `${message.token} is in thread ${found.join(", ")}`);
    if (found.length === 0 && message.attempts.some(isAcknowledged))
      world.violate("I1", `${message.token} is lost (${told})`);
  }
}

function isAcknowledged({ outcome, action }: SentMessage["attempts"][number]): boolean {
  return outcome === "admitted" && action !== "discard" && action !== "skip";
}

/** I3: messages of one sender and one kind are stored in the order they were sent. */
function checkOrder({ ledger, world }: Stage, histories: Map<string, StoredMessage[]>): void {
  const position = new Map<string, number>();
  for (const history of histories.values()) {
    for (const [index, message] of history.entries()) {
      if (message.role === "assistant") continue;
      for (const token of JSON.stringify(message.content.parts).match(TOKEN) ?? [])
        position.set(token, index);
    }
  }
  const last = new Map<string, SentMessage>();
  for (const message of ledger.messages) {
    const [first] = message.attempts;
    if (message.kind !== "now" && message.kind !== "next") continue;
    if (!first || !isAcknowledged(first) || first.duplicate || !position.has(message.token)) continue;
    const line = `${message.sender} ${message.thread.threadId} ${message.kind} ${message.agent}`;
    const before = last.get(line);
    if (before && position.get(before.token)! > position.get(message.token)!) {
      world.violate(
        "I3",
        `sender ${message.sender} sent ${before.token} before ${message.token}, and it is stored after it`,
      );
    }
    last.set(line, message);
  }
}

/** I6, once more: a process may have heard of a decision later than the tool. */
function checkDecisions({ ledger, world }: Stage): void {
  for (const [toolCallId, attempts] of ledger.decisions) {
    const accepted = attempts.find(({ outcome }) => outcome === "accepted");
    const { first, resumed } = ledger.effectsOf(toolCallId);
    if (accepted && !accepted.approved && (resumed > 0 || (first > 0 && !ledger.isAsk(toolCallId)))) {
      world.violate("I6", `${toolCallId} was declined and ran`);
    }
  }
}

/**
 * I5: whatever a tool did is in the history, under the id it did it for. A model that is asked again makes a new call, so
 * an effect that the history does not know is one that may have happened twice.
 */
function checkEffects({ ledger, world }: Stage, histories: Map<string, StoredMessage[]>): void {
  const known = new Set(
    [...histories.values()].flatMap((history) =>
      history.flatMap(({ content }) => content.parts.flatMap((part) => invocation(part)?.toolCallId ?? [])),
    ),
  );
  for (const [toolCallId, { toolName }] of ledger.effects) {
    if (!known.has(toolCallId))
      world.violate("I5", `tool ${toolName} ran for ${toolCallId}, which is in no history`);
  }
}

/** I9: each call in the history was answered, once, and a result means that the tool ran. */
function checkHistory(
  { ledger, world }: Stage,
  { threadId }: SimThread,
  history: readonly StoredMessage[],
): void {
  const seen = new Set<string>();
  for (const message of history) {
    for (const part of message.content.parts) {
      const call = invocation(part);
      if (!call) continue;
      if (seen.has(call.toolCallId))
        world.violate("I9", `call ${call.toolCallId} is stored twice in ${threadId}`);
      seen.add(call.toolCallId);
      if (call.state === "output-denied") world.reached.add("a declined call is in the history");
      if (JSON.stringify(call.result ?? "").includes("unknown"))
        world.reached.add("a tool's outcome was unknown");
      if (call.state !== "result" && call.state !== "output-error" && call.state !== "output-denied") {
        world.violate("I9", `call ${call.toolCallId} of ${threadId} is left as "${call.state}"`);
      }
      if (call.state !== "result" || call.isError || !OF_WORLD.has(call.toolName)) continue;
      if (JSON.stringify(call.result ?? "").includes("in a fork")) continue;
      const { first, resumed } = ledger.effectsOf(call.toolCallId);
      if (first === 0 || (call.toolName === "ask" && resumed === 0)) {
        world.violate("I9", `call ${call.toolCallId} has a result, and its tool did not run`);
      }
    }
  }
}

function invocation(
  part: MessagePart,
): { toolCallId: string; toolName: string; state: string; isError?: boolean; result?: unknown } | undefined {
  return part.type === "tool-invocation" ? part.toolInvocation : undefined;
}

/** I8: each version of a lane is one stored state, and differs from the one before. */
async function checkLanes(
  { shared, world }: Stage,
  { threadId }: SimThread,
  history: readonly StoredMessage[],
): Promise<void> {
  const lanes = new Map<string, { version: number; cacheKey: string; mode: string }[]>();
  for (const message of history) {
    const signal = message.content.metadata?.["signal"] as
      | { metadata?: { state?: { id: string } } }
      | undefined;
    const state = signal?.metadata?.state as
      | { id: string; version: number; cacheKey: string; mode: string }
      | undefined;
    if (state) lanes.set(state.id, [...(lanes.get(state.id) ?? []), state]);
  }
  const rows = await shared.select({ table: LANES, where: { thread_id: threadId } });
  for (const row of rows) {
    const states = (lanes.get(row["lane_id"] as string) ?? []).toSorted((a, b) => a.version - b.version);
    const versions = states.map(({ version }) => version);
    const expected = Array.from({ length: row["version"] as number }, (_, index) => index + 1);
    const lane = `lane ${JSON.stringify(row["lane_id"])} of ${threadId}`;
    if (versions.join() !== expected.join())
      world.violate("I8", `${lane} is at version ${expected.length} and its states are ${versions.join()}`);
    for (const [index, state] of states.entries()) {
      const before = states[index - 1];
      if (before && before.cacheKey === state.cacheKey && before.mode === state.mode)
        world.violate("I8", `${lane} has the same state twice`);
    }
  }
}

/** I2, I4, I10: the log is dense, runs do not mix in it and each has an end, and every reader got exactly what is in it. */
async function checkLog({ shared, ledger, readers, world }: Stage, { threadId }: SimThread): Promise<void> {
  const rows = await shared.select({
    table: EVENTS,
    where: { thread_id: threadId },
    orderBy: [{ column: "first" }],
  });
  // What is old may be gone, from the beginning.
  const [actor] = await shared.select({ table: ACTORS, where: { thread_id: threadId } });
  const gone = ((rows[0]?.["first"] ?? actor?.["next_seq"] ?? 1) as number) - 1;
  if (gone > 0 && world.plan.retentionMs === undefined && world.plan.clockJump === 0)
    world.violate("I10", `the first ${gone} events of ${threadId} are gone`);
  if (gone > 0) world.reached.add("old events were deleted");
  const log: string[] = Array.from({ length: gone }, () => "");
  const echoes = new Map<string, unknown>();
  const over = new Set<unknown>();
  let current: unknown;
  let last = "finish";
  for (const row of rows) {
    const chunks = row["chunks"] as { type: string }[];
    const runId = row["run_id"];
    if (row["first"] !== log.length + 1 || row["last"] !== log.length + chunks.length) {
      world.violate(
        "I10",
        `the log of ${threadId} has ${JSON.stringify(row["first"])} to ${JSON.stringify(row["last"])} after ${log.length}`,
      );
    }
    if (runId !== current) {
      if (!ENDS.has(last))
        world.violate("I10", `run ${JSON.stringify(current)} of ${threadId} ends in the log with "${last}"`);
      over.add(current);
      current = runId;
      if (over.has(current))
        world.violate("I4", `run ${JSON.stringify(current)} of ${threadId} went on after another had begun`);
    }
    for (const chunk of chunks) {
      const text = chunkText({ ...chunk, runId });
      log.push(text);
      last = chunk.type;
      if (chunk.type !== "data-user-message" && chunk.type !== "data-signal") continue;
      for (const token of new Set(text.match(TOKEN) ?? [])) {
        if (echoes.has(token))
          world.violate("I2", `${token} is input of runs ${JSON.stringify([echoes.get(token), runId])}`);
        echoes.set(token, runId);
      }
    }
  }
  if (!ENDS.has(last))
    world.violate("I10", `run ${JSON.stringify(current)} of ${threadId} ends in the log with "${last}"`);
  for (const message of ledger.messages) {
    const told = message.attempts.find(({ action }) => action === "wake" || action === "queue");
    const runId = echoes.get(message.token);
    const isInput = message.attempts.some(({ action }) => ACTIONS_THAT_ECHO.has(action));
    if (isInput && message.thread.threadId === threadId && runId === undefined && gone === 0)
      world.violate("I14", `${message.token} was accepted and is not on the stream of ${threadId}`);
    if (told && runId !== undefined && runId !== told.runId) {
      world.violate(
        "I2",
        `${message.token} was promised run ${told.runId} and went into ${JSON.stringify(runId)}`,
      );
    }
  }
  for (const reader of readers) {
    if (reader.thread.threadId !== threadId) continue;
    for (const { seq, text } of reader.received) {
      if (seq > gone && log[seq - 1] !== text)
        world.violate("I10", `a reader of ${threadId} got ${seq} ${text}; stored is ${log[seq - 1]}`);
    }
    if (reader.isOpen && (reader.last ?? log.length) !== log.length) {
      world.violate(
        "I10",
        `a reader of ${threadId} in ${reader.process.name} is at ${reader.last} of ${log.length}`,
      );
    }
  }
}

/** I12: idle, with nothing left over. */
async function checkRest({ shared, world }: Stage, { threadId }: SimThread): Promise<void> {
  const where = { thread_id: threadId };
  const [[actor], letters, calls, runs] = await Promise.all([
    shared.select({ table: ACTORS, where }),
    shared.select({ table: MAILBOX, where }),
    shared.select({ table: CALLS, where }),
    shared.select({ table: RUNS, where }),
  ]);
  if (!actor) return;
  if (actor["mailbox_count"] !== letters.length || (letters.length === 0 && actor["mailbox_bytes"] !== 0)) {
    world.violate(
      "I13",
      `the mailbox of ${threadId} counts ${JSON.stringify(actor["mailbox_count"])} and has ${letters.length}`,
    );
  }
  if (calls.length > 0)
    world.violate(
      "I12",
      `${threadId} is idle and has calls ${calls.map((call) => JSON.stringify(call["tool_call_id"])).join()}`,
    );
  for (const run of runs) {
    if (run["state"] === "running" || run["state"] === "suspended")
      world.violate(
        "I12",
        `${threadId} is idle and run ${JSON.stringify(run["id"])} is ${JSON.stringify(run["state"])}`,
      );
  }
}

/** Why the world has not come to rest yet, if it has not. */
export async function restlessness(stage: Stage): Promise<string | undefined> {
  const { shared, ledger, world } = stage;
  const [actors, letters, waiting] = await Promise.all([
    shared.select({ table: ACTORS }),
    shared.select({ table: MAILBOX }),
    shared.select({ table: CALLS, where: { state: "waiting" } }),
  ]);
  for (const actor of actors) {
    const of = (rows: Row[]) => rows.filter((row) => row["thread_id"] === actor["thread_id"]);
    const id = JSON.stringify(actor["thread_id"]);
    if (actor["run_state"] === "idle" && of(letters).length > 0)
      return `${id} is idle and has messages waiting`;
    if (actor["run_state"] === "running")
      return `${id} is running ${JSON.stringify(actor["run_id"])} (owner ${JSON.stringify(actor["owner"])})`;
    if (actor["run_state"] === "suspended" && (actor["owner"] !== null || of(waiting).length === 0)) {
      return `${id} is suspended, has owner ${JSON.stringify(actor["owner"])} and ${of(waiting).length} calls waiting`;
    }
  }
  for (const message of ledger.messages) {
    if (message.attempts.some(({ outcome, process }) => outcome === "pending" && process.alive)) {
      if (
        message.kind === "stream" &&
        actors.some(
          (actor) => actor["thread_id"] === message.thread.threadId && actor["run_state"] === "suspended",
        )
      )
        continue;
      return `${message.token} was not answered`;
    }
  }
  for (const attempts of ledger.decisions.values()) {
    if (attempts.some(({ outcome, process }) => outcome === "pending" && process.alive))
      return "a decision was not answered";
  }
  const unrest = (await unreadBy(stage)) ?? (await unrestOfInboxes(stage, actors));
  const inSessions = stage.sessions && (await unrestOfSessions(stage, stage.sessions));
  return unrest ?? inSessions ?? (world.busy ? "something is under way" : undefined);
}

/**
 * A reader that has not heard of something yet. News can be lost; then it looks by itself, some time later. By then the events may
 * be gone, and it learns that it is too slow.
 */
async function unreadBy({ shared, readers }: Stage): Promise<string | undefined> {
  for (const { isOpen, last, thread } of readers) {
    if (!isOpen || last === undefined) continue;
    const where = { thread_id: thread.threadId, next_seq: { gt: last + 1 } };
    if ((await shared.count({ table: ACTORS, where })) > 0)
      return `a reader of ${thread.threadId} is at ${last}`;
  }
  return undefined;
}
