import { AgentError } from "@selvedge/core/errors";
import type { Stage } from "./actions.ts";
import { CONTROLLER, MODELS } from "./sim-controller.ts";
import { DENIED } from "./permission-oracle.ts";
import type { SimApp } from "./sim-app.ts";
import { SimReader } from "./sim-reader.ts";
import type { Attempt, Handle, Outcome, SessionMessage, SimSessions } from "./sim-sessions.ts";

type Act = (stage: Stage, handle: Handle) => void;

/** One thing that somebody does in a session. */
export function actInSession(stage: Stage, sessions: SimSessions): void {
  const { random } = stage.world;
  const { open } = sessions;
  if (open.length === 0 || random.chance(0.08)) return openSession(stage, sessions);
  const act = random.weighted<Act>([
    [16, send],
    [7, steer],
    [10, followUp],
    [8, changeQueue],
    [22, respond],
    [3, respondAgain],
    [4, abort],
    [10, updateState],
    [4, switchMode],
    [3, switchModel],
    [6, changeRules],
    [5, changeGrants],
    [2, toggleYolo],
    [7, switchThread],
    [3, createThread],
    [2, cloneThread],
    [1, deleteSession],
    [3, readAlong],
  ]);
  act(stage, random.pick(open));
}

/** Opens a session in some process, where it may be open already. */
function openSession(stage: Stage, sessions: SimSessions): void {
  const { random } = stage.world;
  open(stage, sessions, random.pick(stage.apps()), random.pick(sessions.ids));
}

export function open(stage: Stage, sessions: SimSessions, app: SimApp, id: string, threadId?: string): void {
  const opening = app.controller!.createSession({
    id,
    ownerId: "o",
    ...(threadId !== undefined && { threadId }),
  });
  watch(stage, { process: app.process, sessionId: id }, `open ${id}`, opening, (session) => {
    if (sessions.handles.some((handle) => handle.session === session)) return;
    const handle = { app, id, session };
    sessions.handles.push(handle);
    const alone = sessions.open.filter((one) => one.id === id).length === 1;
    if (!alone) stage.world.reached.add("a session was open in two processes");
    if (session.permissions.getRules().tools[DENIED] !== "deny")
      call(stage, handle, "deny", session.permissions.setForTool({ toolName: DENIED, policy: "deny" }));
  });
}

function send(stage: Stage, handle: Handle): void {
  say(stage, handle, "send", (content) => handle.session.sendMessage({ content }));
}

function steer(stage: Stage, handle: Handle): void {
  say(stage, handle, "steer", (content) => handle.session.steer({ content }));
}

function followUp(stage: Stage, handle: Handle): void {
  say(stage, handle, "follow up", (content) => handle.session.followUp({ content }));
}

function say(stage: Stage, handle: Handle, how: string, work: (content: string) => Promise<unknown>): void {
  const token = `t0#${stage.world.nextNumber()}`;
  const text = `${token} said`;
  const message: SessionMessage = {
    token,
    ...attemptOf(handle),
    texts: [{ text, outcome: "accepted" }],
    removal: undefined,
  };
  stage.sessions!.messages.push(message);
  settle(stage, message, `${how} ${token}`, work(text));
}

/** Edits, removes or hurries a message that waits for a run of its own. */
function changeQueue(stage: Stage, handle: Handle): void {
  const { world } = stage;
  const { random } = world;
  const { followUps } = handle.session;
  const kind = random.pick(["edit", "remove", "steer"] as const);
  const work = async (): Promise<void> => {
    const queued = await followUps.list();
    if (queued.length === 0) return;
    const { id, content } = random.pick(queued);
    const message = stage.sessions!.messages.find(({ token }) =>
      JSON.stringify(content).includes(`${token} `),
    );
    if (!message) return world.violate("S5", `${id} waits, and nobody sent it`);
    world.reached.add(`a follow-up was changed: ${kind}`);
    if (kind === "steer") return followUps.steer(id);
    if (kind === "edit") {
      const text = { text: `${message.token} edit ${world.nextNumber()}.`, outcome: "pending" as Outcome };
      message.texts.push(text);
      return outcomeOf(followUps.edit({ id, content: text.text }), (outcome) => (text.outcome = outcome));
    }
    message.removal ??= "pending";
    return outcomeOf(followUps.remove({ id }), (outcome) => {
      if (message.removal !== "accepted") message.removal = outcome;
    });
  };
  call(stage, handle, `${kind} a follow-up`, work());
}

async function outcomeOf(work: Promise<unknown>, tell: (outcome: Outcome) => void): Promise<void> {
  try {
    await work;
    tell("accepted");
  } catch (error) {
    tell(AgentError.is(error, "storage-failed") ? "unsure" : "refused");
    throw error;
  }
}

/** Answers something that the session shows. Now and then two do at once. */
function respond(stage: Stage, handle: Handle): void {
  const { random } = stage.world;
  const { pendingApprovals, pendingSuspensions } = handle.session.displayState.get();
  const ids = [...pendingApprovals.keys(), ...pendingSuspensions.keys()];
  if (ids.length === 0) return send(stage, handle);
  const toolCallId = random.pick(ids);
  answerIn(stage, handle, toolCallId);
  if (random.chance(0.3)) {
    const others = stage.sessions!.open.filter(({ id }) => id === handle.id);
    answerIn(stage, random.pick(others), toolCallId);
  }
}

function respondAgain(stage: Stage, handle: Handle): void {
  const known = [...stage.ledger.decisions.keys()];
  if (known.length > 0) answerIn(stage, handle, stage.world.random.pick(known));
}

/** Answers a call as a person would, by what the session shows of it. */
export function answerIn(stage: Stage, handle: Handle, toolCallId: string): void {
  const { world, ledger, sessions } = stage;
  const { random } = world;
  const { session } = handle;
  const suspension = session.suspensions.get({ toolCallId });
  const attempts = ledger.decisionsAbout(toolCallId);
  const decision = random.weighted([
    [5, "approve"],
    [2, "decline"],
    [suspension ? 0 : 1, "always_allow_category"],
  ] as const);
  const approved = decision !== "decline";
  const attempt = { process: handle.app.process, approved, outcome: "pending" as Outcome | "failed" };
  attempts.push(attempt as never);
  const answering = suspension
    ? session.respondToToolSuspension({
        toolCallId,
        resumeData:
          suspension.toolName === "submit_plan" ? { action: approved ? "approved" : "rejected" } : "Yes.",
      })
    : session.respondToToolApproval({ toolCallId, decision });
  call(
    stage,
    handle,
    `${decision} ${toolCallId}`,
    outcomeOf(answering, (outcome) => {
      attempt.outcome = outcome === "unsure" ? "failed" : outcome;
      if (outcome !== "accepted") return;
      world.reached.add(`a call was answered: ${decision}`);
      if (session.core.display.activeSubagents.size > 0) world.reached.add("a subagent was answered");
      const accepted = attempts.filter((one) => (one.outcome as string) === "accepted");
      if (accepted.length > 1) world.violate("I6", `${toolCallId} was decided ${accepted.length} times`);
      if (decision === "always_allow_category") sessions!.alwaysAllowed.add(handle.id);
    }),
  );
}

function abort({ world }: Stage, { session, app, id }: Handle): void {
  world.note(() => `abort in ${id} through ${app.process.name}`);
  session.abort();
}

function updateState(stage: Stage, handle: Handle): void {
  const sessions = stage.sessions!;
  const key = `k${stage.world.nextNumber()}`;
  const { incarnation } = handle.session.core.row;
  const update = { ...attemptOf(handle), key, incarnation };
  sessions.updates.push(update);
  const work = handle.session.state.update((state) => ({
    updates: { [key]: 1, count: Number(state["count"] ?? 0) + 1 },
  }));
  settle(stage, update, `update ${key}`, work);
}

function switchMode(stage: Stage, handle: Handle): void {
  const modeId = stage.world.random.pick(["plan", "build"]);
  call(stage, handle, `mode ${modeId}`, handle.session.mode.switch({ modeId }));
}

function switchModel(stage: Stage, handle: Handle): void {
  const modelId = stage.world.random.pick(MODELS);
  call(stage, handle, `model ${modelId}`, handle.session.model.switch({ modelId }));
}

function changeRules(stage: Stage, handle: Handle): void {
  const { random } = stage.world;
  const { permissions } = handle.session;
  const policy = random.pick(["allow", "ask", "ask", "deny"] as const);
  const work = random.chance(0.5)
    ? permissions.setForTool({ toolName: random.pick(["write", "idempotent"]), policy })
    : permissions.setForCategory({ category: random.pick(["edit", "read"]), policy });
  call(stage, handle, `rule ${policy}`, work);
}

function changeGrants(stage: Stage, handle: Handle): void {
  const { random } = stage.world;
  const { session } = handle;
  if (random.chance(0.5)) return call(stage, handle, "grant", session.grantTool("write"));
  stage.sessions!.revoked.add(handle.id);
  const work = random.chance(0.5) ? session.revokeCategory("edit") : session.revokeTool("write");
  call(stage, handle, "revoke", work);
}

function toggleYolo(stage: Stage, handle: Handle): void {
  call(stage, handle, "yolo", handle.session.state.set({ yolo: stage.world.random.chance(0.4) }));
}

function switchThread(stage: Stage, handle: Handle): void {
  const { random } = stage.world;
  const { thread } = handle.session;
  const abortsRun = random.chance(0.5);
  const work = async (): Promise<void> => {
    const threads = await thread.list();
    if (threads.length === 0) return;
    const { id } = random.pick(threads);
    stage.world.note(() => `${handle.id} goes to ${id}`);
    await thread.switch({ threadId: id, abort: abortsRun });
  };
  call(stage, handle, "switch thread", work());
}

function createThread(stage: Stage, handle: Handle): void {
  call(stage, handle, "create thread", handle.session.thread.create());
}

function cloneThread(stage: Stage, handle: Handle): void {
  call(stage, handle, "clone thread", handle.session.thread.clone());
}

function deleteSession(stage: Stage, { app, id }: Handle): void {
  const { deletions } = stage.sessions!;
  deletions.set(id, (deletions.get(id) ?? 0) + 1);
  const deleting = app.controller!.deleteSession({ id });
  watch(stage, { process: app.process, sessionId: id }, `delete ${id}`, deleting);
}

/** Somebody reads the thread of a session without the session. */
function readAlong(stage: Stage, { session }: Handle): void {
  const threadId = session.thread.getId();
  if (threadId === null) return;
  const { random } = stage.world;
  const after = random.chance(0.3) ? 0 : undefined;
  const thread = { threadId, resourceId: CONTROLLER };
  stage.readers.push(new SimReader(random.pick(stage.apps()), thread, after));
}

function attemptOf({ app, id }: Handle): Attempt {
  return { process: app.process, sessionId: id, outcome: "pending" };
}

function call(stage: Stage, { app, id }: Handle, what: string, work: Promise<unknown>): void {
  watch(stage, { process: app.process, sessionId: id }, what, work);
}

/** Waits for a call of somebody, so that the world does not end before it has. */
function watch<Value>(
  stage: Stage,
  about: Pick<Attempt, "process" | "sessionId">,
  what: string,
  work: Promise<Value>,
  done?: (value: Value) => void,
): void {
  const attempt = { ...about, what, outcome: "pending" as Outcome };
  stage.sessions!.calls.push(attempt);
  settle(stage, attempt, what, work.then(done));
}

function settle(stage: Stage, attempt: Attempt, what: string, work: Promise<unknown>): void {
  const { world } = stage;
  const where = `${attempt.sessionId} through ${attempt.process.name}`;
  world.note(() => `${what} in ${where}`);
  work.then(
    () => {
      attempt.outcome = "accepted";
      world.note(() => `done: ${what} in ${where}`);
    },
    (error: unknown) => {
      attempt.outcome = AgentError.is(error, "storage-failed") ? "unsure" : "refused";
      world.note(() => `refused: ${what} in ${where}: ${String(error)}`);
      if (AgentError.is(error)) world.reached.add(`refused in a session: ${error.code}`);
      else world.violate("S7", `${what} in ${where} failed with ${(error as Error)?.stack ?? String(error)}`);
    },
  );
}
