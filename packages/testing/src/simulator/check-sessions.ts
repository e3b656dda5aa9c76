import type { Session } from "@selvedge/core/agent-controller";
import type { Row } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import type { Stage } from "./actions.ts";
import type { Handle, SimSessions } from "./sim-sessions.ts";
import { ACTORS, CALLS, MAILBOX, SESSIONS, THREAD_STATE } from "./tables.ts";

/** Why the sessions have not come to rest yet, if they have not. */
export async function unrestOfSessions(stage: Stage, sessions: SimSessions): Promise<string | undefined> {
  const waits = await waitingByThread(stage);
  for (const { outcome, process, what, ...rest } of [...sessions.calls, ...named(sessions)]) {
    if (outcome !== "pending" || !process.alive) continue;
    // A message is answered when its run is over, and that may wait for somebody.
    if ("token" in rest && waits.size > 0) continue;
    return `${what} of ${process.name} was not answered`;
  }
  for (const handle of sessions.open) {
    const behind = await unrestOf(stage, handle, waits);
    if (behind) return behind;
  }
  return undefined;
}

function named({ messages, updates }: SimSessions) {
  return [
    ...messages.map((message) => ({ ...message, what: `message ${message.token}` })),
    ...updates.map((update) => ({ ...update, what: `update ${update.key}` })),
  ];
}

/** A session that has not heard of something yet: its row, its thread, or what waits there. */
async function unrestOf(
  stage: Stage,
  { id, app, session }: Handle,
  waits: Map<string, string[]>,
): Promise<string | undefined> {
  const where = `${id} in ${app.process.name}`;
  const row = await rowOf(stage, id);
  if (!row) return `${where} was deleted and is open`;
  if (session.core.row.version !== row["version"])
    return `${where} is at version ${session.core.row.version} of ${JSON.stringify(row["version"])}`;
  const { pendingApprovals, pendingSuspensions, tokenUsage, queuedFollowUps } = session.displayState.get();
  const threadId = row["thread_id"] as string;
  const unread = { thread_id: threadId, next_seq: { gt: (session.core.thread.lastSeq ?? 0) + 1 } };
  if ((await stage.shared.count({ table: ACTORS, where: unread })) > 0)
    return `${where} is at ${session.core.thread.lastSeq}`;
  const shown = [...pendingApprovals.keys(), ...pendingSuspensions.keys()].toSorted().join();
  const expected = (waits.get(threadId) ?? []).toSorted().join();
  if (shown !== expected)
    return `${where} shows questions ${shown || "none"}, and ${expected || "none"} wait`;
  const tokens = await tokensOf(stage, threadId);
  if (tokenUsage.totalTokens !== tokens)
    return `${where} shows ${tokenUsage.totalTokens} tokens of ${tokens}`;
  const queued = await stage.shared.count({ table: MAILBOX, where: { thread_id: threadId, due: 2 } });
  if (queuedFollowUps !== queued) return `${where} shows ${queuedFollowUps} follow-ups of ${queued}`;
  return undefined;
}

async function tokensOf({ shared }: Stage, threadId: string): Promise<number> {
  const [state] = await shared.select({ table: THREAD_STATE, where: { thread_id: threadId, type: "usage" } });
  return (Object(state?.["value"]) as { totalTokens?: number }).totalTokens ?? 0;
}

/** What waits for a person on each thread. What a subagent asks is asked on the thread of its parent. */
export async function waitingByThread({ shared }: Stage): Promise<Map<string, string[]>> {
  const calls = await shared.select({ table: CALLS, where: { state: "waiting" } });
  const actors = await shared.select({ table: ACTORS });
  const active = new Set(actors.map((actor) => actor["run_id"]));
  const childOf = (call: Row) =>
    call["tool_name"] === "subagent"
      ? (Object(call["suspend_payload"]) as { subagent?: { threadId: string } }).subagent?.threadId
      : undefined;
  const parents = new Map(calls.map((call) => [childOf(call), call["thread_id"] as string]));
  const waits = new Map<string, string[]>();
  for (const call of calls) {
    if (!active.has(call["run_id"]!) || childOf(call) !== undefined) continue;
    const own = call["thread_id"] as string;
    const threadId = parents.get(own) ?? own;
    waits.set(threadId, [...(waits.get(threadId) ?? []), call["tool_call_id"] as string]);
  }
  return waits;
}

async function rowOf({ shared }: Stage, id: string): Promise<Row | undefined> {
  return (await shared.select({ table: SESSIONS, where: { id } }))[0];
}

/** S6: a session shows the same wherever it is open, and as one that is opened anew. */
export function checkShown(stage: Stage, sessions: SimSessions, fresh: Handle): void {
  const { world } = stage;
  const short = world.plan.retentionMs !== undefined;
  const expected = shownBy(fresh.session, short);
  for (const { id, app, session } of sessions.open) {
    if (id !== fresh.id || session === fresh.session) continue;
    const shown = shownBy(session, short);
    for (const [field, value] of Object.entries(expected))
      if (shown[field] !== value)
        world.violate(
          "S6",
          `${id} in ${app.process.name} shows ${field} ${shown[field]}; opened in ${fresh.app.process.name} it shows ${value}`,
        );
  }
}

function shownBy(session: Session, short: boolean): Record<string, string | undefined> {
  const { pendingApprovals, pendingSuspensions, tasks, tokenUsage, queuedFollowUps, ...more } =
    session.displayState.get();
  const all = {
    mode: session.mode.get(),
    model: session.model.get(),
    thread: session.thread.getId(),
    state: session.state.get(),
    rules: session.permissions.getRules(),
    grants: session.getGrants(),
    questions: [...pendingApprovals.keys(), ...pendingSuspensions.keys()],
    tasks,
    tokenUsage,
    queuedFollowUps,
    // Where events are kept for a moment only, what a run did before it waited is not known any more.
    ...(!short && more),
  };
  return Object.fromEntries(Object.entries(all).map(([name, value]) => [name, JSON.stringify(value, plain)]));
}

function plain(_key: string, value: unknown): unknown {
  return value instanceof Map ? [...value] : value;
}

/** Everything about sessions that must hold when all has come to rest. */
export async function checkSessions(
  stage: Stage,
  sessions: SimSessions,
  histories: Map<string, StoredMessage[]>,
): Promise<void> {
  checkSaid(stage, sessions, histories);
  for (const id of sessions.ids) await checkState(stage, sessions, id);
  for (const threadId of histories.keys()) await checkUsage(stage, threadId);
  checkTasks(stage, histories);
  for (const { id, app, session } of sessions.handles)
    if (session.core.isClosed && app.process.alive && !app.closing && !sessions.deletions.has(id))
      stage.world.violate("S6", `${id} in ${app.process.name} is closed, and nobody deleted it`);
}

/** S5: what was accepted is in the history, once, as it was edited; what was taken back is not. */
function checkSaid({ world }: Stage, sessions: SimSessions, histories: Map<string, StoredMessage[]>): void {
  const texts = new Map<string, string[]>();
  for (const [threadId, history] of histories)
    texts.set(
      threadId,
      history.flatMap(({ role, content }) => (role === "assistant" ? [] : JSON.stringify(content.parts))),
    );
  for (const message of sessions.messages) {
    const { token, outcome, removal } = message;
    // Copies of a thread have what was said before.
    const byThread = [...texts.values()].map((said) => said.filter((text) => text.includes(`${token} `)));
    const found = byThread.flat();
    if (byThread.some((said) => said.length > 1)) world.violate("S5", `${token} is stored twice`);
    if (found.length === 0 && outcome === "accepted" && removal === undefined)
      world.violate("S5", `${token} is lost`);
    if (found.length > 0 && removal === "accepted")
      world.violate("S5", `${token} was taken back and is stored`);
    // Of edits that met, either may be the last; the first text is not.
    const [first, ...edits] = message.texts.filter((text) => text.outcome !== "refused");
    const isEdited = edits.some((text) => text.outcome === "accepted");
    const possible = isEdited ? edits : [first!, ...edits];
    if (!found.every((said) => possible.some(({ text }) => said.includes(text))))
      world.violate("S5", `${token} says ${found[0]}, and was edited to ${JSON.stringify(message.texts)}`);
  }
}

/** S3: no update of a state is lost, and none is made twice. */
async function checkState(stage: Stage, sessions: SimSessions, id: string): Promise<void> {
  const { world } = stage;
  const row = await rowOf(stage, id);
  const deletions = sessions.deletions.get(id) ?? 0;
  const state = (row?.["state"] ?? {}) as Record<string, unknown>;
  for (const update of sessions.updates) {
    if (update.sessionId !== id || update.outcome !== "accepted") continue;
    if (update.incarnation !== row?.["incarnation"]) continue;
    if (!(update.key in state)) world.violate("S3", `${update.key} of ${id} is lost`);
  }
  const keys = Object.keys(state).filter((key) => /^k\d/.test(key)).length;
  if (keys !== (state["count"] ?? 0))
    world.violate("S3", `${id} has ${keys} updates and counts ${JSON.stringify(state["count"])}`);
  const isGranted = (row?.["grants"] as { categories: string[] } | undefined)?.categories.length;
  if (deletions === 0 && sessions.alwaysAllowed.has(id) && !sessions.revoked.has(id) && !isGranted)
    world.violate("S1", `a category of ${id} was allowed for good, and is not granted`);
}

/** S4: the usage of a thread is that of its runs. */
async function checkUsage(stage: Stage, threadId: string): Promise<void> {
  const { world, sessions } = stage;
  const counted = await tokensOf(stage, threadId);
  let spent = 0;
  for (const run of sessions!.runs.values()) if (run.threadId === threadId) spent += run.tokens;
  if (counted !== spent)
    world.violate("S4", `the runs of ${threadId} used ${spent} tokens, and ${counted} are counted`);
}

/** S8: a subagent is given its task once. */
function checkTasks({ world }: Stage, histories: Map<string, StoredMessage[]>): void {
  for (const [threadId, history] of histories) {
    if (!threadId.startsWith("sub-")) continue;
    const tasks = history.filter(
      ({ role, content }) => role !== "assistant" && /Help with/.test(JSON.stringify(content.parts)),
    );
    if (tasks.length > 1) world.violate("S8", `${threadId} has ${tasks.length} tasks`);
    world.reached.add(history.length > 2 ? "a subagent worked" : "a subagent began");
  }
}
