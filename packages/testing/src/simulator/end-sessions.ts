import { THREADS } from "@selvedge/core/storage";
import type { Stage } from "./actions.ts";
import { checkShown, waitingByThread } from "./check-sessions.ts";
import { answerIn, open } from "./session-actions.ts";
import type { SimApp } from "./sim-app.ts";
import type { Handle, SimSessions } from "./sim-sessions.ts";
import { SESSIONS } from "./tables.ts";

const MAX_ROUNDS = 60;

/** Brings the sessions of a world to their end: they show the same everywhere, and everything that asks is answered. */
export async function endSessions(
  stage: Stage,
  sessions: SimSessions,
  means: { elsewhere(): SimApp; rest(stage: Stage): Promise<void> },
): Promise<void> {
  const { world } = stage;
  await compare(stage, sessions, means);
  for (let round = 0; ; round++) {
    const waits = await waitingByThread(stage);
    if (waits.size === 0) break;
    if (round > MAX_ROUNDS) return world.violate("I12", "there is always one more question");
    for (const [threadId, questions] of waits) {
      const handle = await handleOn(stage, sessions, threadId, means.rest);
      if (!handle) return world.violate("S6", `no session could be opened on ${threadId}`);
      for (const toolCallId of questions) answerIn(stage, handle, toolCallId);
    }
    await means.rest(stage);
  }
  await compare(stage, sessions, means);
  const threads = await stage.shared.select({ table: THREADS, orderBy: [{ column: "id" }] });
  stage.threads = threads.map(({ id, resource_id: resourceId, metadata }) => ({
    threadId: id,
    resourceId,
    isCopy: "clone" in Object(metadata),
  }));
}

/** Opens all sessions in a process that has seen nothing of what happened. */
async function compare(
  stage: Stage,
  sessions: SimSessions,
  { elsewhere, rest }: { elsewhere(): SimApp; rest(stage: Stage): Promise<void> },
): Promise<void> {
  const rows = await stage.shared.select({ table: SESSIONS, orderBy: [{ column: "id" }] });
  if (rows.length === 0) return;
  const app = elsewhere();
  for (const { id } of rows)
    if (sessions.open.some((one) => one.id === id)) open(stage, sessions, app, id as string);
  await rest(stage);
  for (const fresh of sessions.open.filter((one) => one.app === app)) checkShown(stage, sessions, fresh);
  await stage.world.settle();
}

/** A session that is on a thread, opened for it where there is none. */
async function handleOn(
  stage: Stage,
  sessions: SimSessions,
  threadId: string,
  rest: (stage: Stage) => Promise<void>,
): Promise<Handle | undefined> {
  const find = () => sessions.open.find(({ session }) => session.thread.getId() === threadId);
  const known = find();
  if (known) return known;
  open(stage, sessions, stage.world.random.pick(stage.apps()), `closer of ${threadId}`, threadId);
  await rest(stage);
  return find();
}
