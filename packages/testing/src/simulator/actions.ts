import type { Agent } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core/errors";
import type { Storage, Row } from "@selvedge/core/storage";
import type { Attempt, DecisionAttempt, Ledger, MessageKind, SentMessage, SimThread } from "./ledger.ts";
import type { AgentName, SimApp } from "./sim-app.ts";
import type { SimCommands } from "./sim-commands.ts";
import { SimFiles } from "./sim-files.ts";
import type { SimProcess } from "./sim-process.ts";
import { notify, useInbox } from "./notification-actions.ts";
import { actInSession } from "./session-actions.ts";
import type { SimSessions } from "./sim-sessions.ts";
import { SimReader } from "./sim-reader.ts";
import { ACTORS, CALLS, RUNS } from "./tables.ts";
import type { World } from "./world.ts";

/** What clients can do it to. */
export interface Stage {
  world: World;
  ledger: Ledger;
  shared: Storage;
  threads: SimThread[];
  senders: number;
  agents: 1 | 2;
  readers: SimReader[];
  /** Threads exist before anybody writes to them. */
  prepared: boolean;
  /** Whether anything happens outside that threads are told of. */
  notifies: boolean;
  /** What goes on is in sessions, where the world has any. */
  sessions: SimSessions | undefined;
  /** Files that agents and people change, where the world has any. */
  files: SimFiles | SimCommands | undefined;
  apps(): SimApp[];
}

type Send = (
  agent: Agent,
  token: string,
  process: SimProcess,
) => Promise<{ action: string; runId: string | undefined; duplicate?: boolean } | "skipped">;

/** One thing some client does. */
export async function act(stage: Stage): Promise<void> {
  const { world } = stage;
  if (stage.apps().length === 0) return;
  if (stage.sessions) return actInSession(stage, stage.sessions);
  const action = world.random.weighted<(stage: Stage) => void | Promise<void>>([
    [30, sendMessage],
    [12, queueMessage],
    [8, sendSignal],
    [5, burst],
    [5, persist],
    [2, discard],
    [stage.prepared ? 8 : 0, sendState],
    [9, stream],
    [8, retry],
    [16, decide],
    [3, decideAgain],
    [4, abort],
    [9, subscribe],
    [3, unsubscribe],
    [6, resubscribe],
    [stage.prepared ? 3 : 0, trespass],
    [stage.notifies ? 40 : 0, notify],
    [stage.notifies ? 8 : 0, useInbox],
    [stage.files instanceof SimFiles ? 12 : 0, () => (stage.files as SimFiles).change()],
  ]);
  await action(stage);
}

function sendMessage(stage: Stage): void {
  send(
    stage,
    "now",
    (options) => async (agent, token) => agent.sendMessage(`${token} hello`, options).admitted,
  );
}

function queueMessage(stage: Stage): void {
  send(
    stage,
    "next",
    (options) => async (agent, token) => agent.queueMessage(`${token} later`, options).admitted,
  );
}

function sendSignal(stage: Stage): void {
  send(stage, "now", (options) => async (agent, token) => {
    return agent.sendSignal({ type: "notification", contents: `${token} news` }, options).admitted;
  });
}

/** Several write at once, through one process. */
function burst(stage: Stage): void {
  const { random } = stage.world;
  const { process } = random.pick(stage.apps());
  const thread = random.pick(stage.threads);
  for (let count = random.between(3, 6); count > 0; count--) {
    const isQueued = random.chance(0.3);
    const message = newMessage(stage, thread, isQueued ? "next" : "now", undefined, async (agent, token) =>
      isQueued
        ? agent.queueMessage(`${token} later`, thread).admitted
        : agent.sendMessage(`${token} at once`, thread).admitted,
    );
    const bound = pendingPlaces(stage, message);
    if (bound.size === 0 || (bound.size === 1 && bound.has(process))) message.send(process);
  }
}

function persist(stage: Stage): void {
  const { random } = stage.world;
  const behavior = random.pick([
    { ifActive: { behavior: "persist" }, ifIdle: { behavior: "persist" } },
    { ifActive: { behavior: "persist" } },
    { ifIdle: { behavior: "persist" } },
  ] as const);
  send(stage, "other", (options) => async (agent, token) => {
    return agent.sendMessage(`${token} for the record`, { ...options, ...behavior }).admitted;
  });
}

function discard(stage: Stage): void {
  const behavior = { ifActive: { behavior: "discard" }, ifIdle: { behavior: "discard" } } as const;
  send(stage, "other", (options) => async (agent, token) => {
    return agent.sendMessage(`${token} for nobody`, { ...options, ...behavior }).admitted;
  });
}

/**
 * A producer tells a state; now and then two tell theirs at once. Mostly where a run is under way: elsewhere one of two
 * that meet changes the thread for the other, and it never comes to the lane.
 */
async function sendState(stage: Stage): Promise<void> {
  const { random } = stage.world;
  const id = random.pick(["browser", "editor"]);
  const actors = await stage.shared.select({ table: ACTORS, where: { run_state: "running" } });
  const busy = stage.threads.filter(({ threadId }) =>
    actors.some((actor) => actor["thread_id"] === threadId),
  );
  const thread = random.pick(busy.length > 0 && random.chance(0.7) ? busy : stage.threads);
  const apps = stage.apps();
  const first = random.between(0, apps.length - 1);
  // In one process they would stand in line.
  for (let times = random.chance(0.5) ? 2 : 1; times > 0; times--)
    tellState(stage, thread, id, apps[(first + times) % apps.length]!.process);
}

function tellState(stage: Stage, thread: SimThread, id: string, process: SimProcess): void {
  const { random } = stage.world;
  const cacheKey = random.pick(["a", "b", "c"]);
  const mode = random.pick(["snapshot", "delta"] as const);
  const quiet = random.chance(0.4) ? ({ ifIdle: { behavior: "persist" } } as const) : {};
  const message = newMessage(stage, thread, "other", undefined, async (agent, token) => {
    const state = { id, cacheKey, mode, contents: `${token} is the state` };
    const result = await agent.sendStateSignal(state, { ...thread, ...quiet });
    return result.skipped ? "skipped" : result.admitted;
  });
  message.send(process);
}

function stream(stage: Stage): void {
  const { world } = stage;
  const thread = world.random.pick(stage.threads);
  const controller = new AbortController();
  const abortAfter = world.random.chance(0.15) ? world.random.between(0, 60) : undefined;
  const message = newMessage(stage, thread, "stream", undefined, async (agent, token, process) => {
    if (abortAfter !== undefined) process.setTimer(abortAfter, () => controller.abort());
    const memory = { thread: thread.threadId, resource: thread.resourceId };
    const output = await agent.stream(`${token} now`, { memory, abortSignal: controller.signal });
    await output.consumeStream();
    if (output.status !== "success" && output.status !== "suspended")
      throw output.error ?? new Error(output.status);
    return { action: "stream", runId: output.runId };
  });
  message.send(world.random.pick(stage.apps()).process);
}

/** A client that is not sure sends again, with the key it used before. */
function retry(stage: Stage): void {
  const { random } = stage.world;
  const candidates = stage.ledger.messages.filter((message) => message.key !== undefined);
  if (candidates.length === 0) return;
  random.pick(candidates).send(random.pick(stage.apps()).process);
}

function send(
  stage: Stage,
  kind: MessageKind,
  bind: (options: SimThread & { idempotencyKey?: string }) => Send,
): void {
  const { random } = stage.world;
  const thread = random.pick(stage.threads);
  const key = random.chance(0.5) ? `key-${stage.world.nextNumber()}` : undefined;
  const options = { ...thread, ...(key !== undefined && { idempotencyKey: key }) };
  const message = newMessage(stage, thread, kind, key, bind(options));
  const process = whereToSend(stage, message);
  if (process) message.send(process);
}

/** Who has not heard of its last message yet stays with the process it gave that to. */
function whereToSend(stage: Stage, message: SentMessage): SimProcess | undefined {
  const places = pendingPlaces(stage, message);
  if (places.size > 1) return undefined;
  return places.size === 1 ? [...places][0] : stage.world.random.pick(stage.apps()).process;
}

/** Processes that have not answered a sender about the messages it sent to a thread. */
function pendingPlaces({ ledger }: Stage, { sender, thread }: SentMessage): Set<SimProcess> {
  const pending = ledger.messages
    .filter((message) => message.sender === sender && message.thread === thread)
    .flatMap((message) => message.attempts)
    .filter((attempt) => attempt.outcome === "pending" && attempt.process.alive);
  return new Set(pending.map((attempt) => attempt.process));
}

function newMessage(
  stage: Stage,
  thread: SimThread,
  kind: MessageKind,
  key: string | undefined,
  how: Send,
): SentMessage {
  const { world, ledger } = stage;
  const token = `${thread.threadId}#${world.nextNumber()}`;
  const message: SentMessage = {
    token,
    thread,
    sender: world.random.between(1, stage.senders),
    agent: world.random.chance(stage.agents === 2 ? 0.25 : 0) ? "other" : "agent",
    kind,
    key,
    attempts: [],
    send: (process) => {
      const app = stage.apps().find((one) => one.process === process);
      if (!app) return;
      if (message.attempts.length === 0) ledger.messages.push(message);
      const attempt: Attempt = { process, outcome: "pending" };
      message.attempts.push(attempt);
      world.note(
        () =>
          `sender ${message.sender} sends ${token} (${kind} for ${message.agent}${key ? `, ${key}` : ""}) through ${process.name}`,
      );
      void watchSending(stage, message, attempt, how(app.agents[message.agent], token, process));
    },
  };
  return message;
}

async function watchSending(
  stage: Stage,
  message: SentMessage,
  attempt: Attempt,
  sending: ReturnType<Send>,
): Promise<void> {
  const { world } = stage;
  try {
    const admitted = await sending;
    attempt.outcome = "admitted";
    attempt.action = admitted === "skipped" ? "skip" : admitted.action;
    if (admitted === "skipped") {
      world.reached.add("a state that was current was skipped");
      return;
    }
    attempt.runId = admitted.runId;
    world.note(
      () =>
        `${message.token} is admitted: ${admitted.action} ${admitted.runId}${admitted.duplicate ? ", duplicate" : ""}`,
    );
    world.reached.add(`a message was admitted: ${admitted.action}`);
    if (!admitted.duplicate) return;
    attempt.duplicate = true;
    world.reached.add("a message that was sent again was known");
    const first = message.attempts.find(
      (one) => one.outcome === "admitted" && !one.duplicate && one.action !== "discard",
    );
    if (first && (first.action !== admitted.action || first.runId !== admitted.runId)) {
      world.violate(
        "I2",
        `${message.token} was ${first.action} ${first.runId} and is ${admitted.action} ${admitted.runId} when sent again`,
      );
    }
  } catch (error) {
    attempt.outcome = "rejected";
    world.note(() => `${message.token} is rejected: ${String(error)}`);
    if (AgentError.is(error)) world.reached.add(`refused: ${error.code}`);
  }
}

/** Somebody answers a waiting call; now and then two do at once, and do not agree. */
async function decide(stage: Stage): Promise<void> {
  const { random } = stage.world;
  const waiting = await waitingCalls(stage.shared);
  const apps = stage.apps();
  if (waiting.length === 0 || apps.length === 0) return;
  const call = random.pick(waiting);
  answer(stage, random.pick(apps), call, random.chance(0.6));
  if (random.chance(0.3)) answer(stage, random.pick(apps), call, random.chance(0.5));
}

/** An answer to a call that was answered before. */
function decideAgain(stage: Stage): void {
  const { random } = stage.world;
  const known = [...stage.ledger.decisions.keys()];
  const apps = stage.apps();
  if (known.length === 0 || apps.length === 0) return;
  const toolCallId = random.pick(known);
  const thread = random.pick(stage.threads);
  answer(
    stage,
    random.pick(apps),
    { tool_call_id: toolCallId, thread_id: thread.threadId, tool_name: "approve" },
    random.chance(0.5),
  );
}

/** Answers a call: with a word, or, where the rest of the run is wanted as a stream, by asking for that. */
export function answer(stage: Stage, app: SimApp, call: Row, approved: boolean): void {
  const { world, ledger, threads } = stage;
  const { process } = app;
  const toolCallId = call["tool_call_id"] as string;
  const thread = threads.find(({ threadId }) => threadId === call["thread_id"])!;
  const attempts = ledger.decisionsAbout(toolCallId);
  const attempt: DecisionAttempt = { process, approved, outcome: "pending" };
  attempts.push(attempt);
  const resumeData = call["tool_name"] === "ask" && approved ? { resumeData: { fine: true } } : {};
  const runId = call["run_id"] as string | undefined;
  world.note(() => `${approved ? "yes" : "no"} to ${toolCallId} through ${process.name}`);
  const asStream = runId !== undefined && world.random.chance(0.2);
  const answering: Promise<unknown> = asStream
    ? follow(app.agents[call["agent"] as AgentName], { runId, toolCallId, ...resumeData }, approved)
    : app.agents.agent.sendToolApproval({ ...thread, toolCallId, approved, ...resumeData });
  const accept = (): void => {
    attempt.outcome = "accepted";
    world.note(() => `${toolCallId} is decided: ${approved}`);
    world.reached.add(approved ? "a call was approved" : "a call was declined");
    const accepted = attempts.filter(({ outcome }) => outcome === "accepted");
    if (accepted.length > 1) world.violate("I6", `${toolCallId} was decided ${accepted.length} times`);
  };
  answering.then(accept, (error: unknown) => {
    world.note(() => `the answer to ${toolCallId} is refused: ${String(error)}`);
    if (AgentError.is(error, "already-decided")) world.reached.add("an approval came too late");
    // It counts, and goes on in another process.
    if (asStream && AgentError.is(error, "superseded")) return accept();
    attempt.outcome = AgentError.is(error, "storage-failed") ? "failed" : "refused";
  });
}

async function follow(
  agent: Agent,
  call: { runId: string; toolCallId: string; resumeData?: unknown },
  approved: boolean,
): Promise<void> {
  const output = await (approved ? agent.approveToolCall(call) : agent.declineToolCall(call));
  output.consumeStream().catch(() => {});
}

/** Calls that wait, each with the agent whose run it is. */
export async function waitingCalls(shared: Storage): Promise<Row[]> {
  const calls = await shared.select({
    table: CALLS,
    where: { state: "waiting" },
    orderBy: [{ column: "tool_call_id" }],
  });
  const runs = await shared.select({ table: RUNS });
  return calls.map((call) => ({
    ...call,
    agent: runs.find((run) => run["id"] === call["run_id"])?.["agent_id"] ?? "agent",
  }));
}

function abort(stage: Stage): void {
  const open = stage.readers.filter((reader) => reader.isOpen && reader.subscription);
  if (open.length === 0) return;
  const reader = stage.world.random.pick(open);
  stage.world.note(() => `abort of ${reader.thread.threadId} through ${reader.process.name}`);
  if (reader.subscription!.abort()) stage.world.reached.add("a run was aborted");
}

function subscribe(stage: Stage): void {
  const { random } = stage.world;
  const after = random.chance(0.3) ? 0 : undefined;
  stage.readers.push(new SimReader(random.pick(stage.apps()), random.pick(stage.threads), after));
}

function unsubscribe(stage: Stage): void {
  const open = stage.readers.filter((reader) => reader.isOpen);
  if (open.length > 0) stage.world.random.pick(open).close();
}

/** A reader whose line broke goes on where it was, maybe elsewhere. */
function resubscribe(stage: Stage): void {
  const { random } = stage.world;
  const gone = stage.readers.filter((reader) => !reader.isOpen && reader.last !== undefined);
  if (gone.length === 0) return;
  const reader = random.pick(gone);
  stage.readers.push(new SimReader(random.pick(stage.apps()), reader.thread, reader.last));
  stage.world.reached.add("a reader went on where it was");
}

/** Somebody tries what is not theirs. */
function trespass(stage: Stage): void {
  const { world } = stage;
  const app = world.random.pick(stage.apps());
  const { threadId } = world.random.pick(stage.threads);
  const resourceId = "somebody-else";
  const caught = (what: string) => () =>
    world.violate("I11", `${what} on ${threadId} was allowed for another resource`);
  const expected = (error: unknown) => {
    if (!AgentError.is(error)) world.violate("I11", `trespassing failed with ${String(error)}`);
  };
  const listen = async (): Promise<void> => {
    const { stream, unsubscribe } = await app.agents.agent.subscribeToThread({
      threadId,
      resourceId,
      after: 0,
    });
    app.process.setTimer(1_000, unsubscribe);
    for await (const _ of stream) return caught("a subscription")();
  };
  const kind = world.random.between(1, 3);
  world.note(() => `somebody else tries ${threadId} (${kind}) through ${app.process.name}`);
  if (kind === 1)
    app.agents.agent
      .sendMessage("let me in", { threadId, resourceId })
      .admitted.then(caught("a message"), expected);
  if (kind === 2) listen().catch(expected);
  if (kind === 3)
    app.agents.agent
      .sendToolApproval({ threadId, resourceId, approved: true })
      .then(caught("an approval"), expected);
}
