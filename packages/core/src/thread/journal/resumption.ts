import type { MessageContent, MessagePart, Usage } from "@selvedge/protocol";
import { readSteps, withSteps } from "../../storage/list-messages.ts";
import type { Storage } from "../../storage/storage.ts";
import { type MessageRow, MESSAGES } from "../../storage/tables.ts";
import { ACTORS, CALLS, type CallRow, EVENTS, type RunRow, RUNS } from "../../storage/thread-tables.ts";
import type { Decision, JournaledCall, Resumption } from "../../run/resume.ts";
import { type Actor, toActor } from "../hold/actor.ts";
import type { OpenStep } from "./open-step.ts";
import { restoreOutcome, type StoredOutcome } from "./stored-outcome.ts";
import { reviveOptions, type StoredOptions } from "../../run/stored-options.ts";

/** A run that was taken over: how far it got, and the number of its next event. */
export interface TakenRun {
  resumption: Resumption;
  nextSeq: number;
}

/** A waiting run without a process, as read: it stays unchanged until a process takes it. */
export interface ParkedRun {
  actor: Actor;
  calls: readonly CallRow[];
  row?: RunRow | undefined;
}

/** Where the messages of a run usually are. */
const NEWEST = 20;

/** Reads how far a run got that was taken over: the unknown parts of a parked one, and everything of any other. */
export async function readTaken(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId: string },
  parked?: ParkedRun,
): Promise<TakenRun | undefined> {
  const here = { thread_id: threadId };
  const run = { table: RUNS, where: { id: runId }, limit: 1 } as const;
  const messages = {
    table: MESSAGES,
    where: here,
    orderBy: [{ column: "seq", direction: "desc" }],
    limit: NEWEST,
  } as const;
  if (parked) {
    const { actor, calls } = parked;
    // A row that was read before the thread may be older than its suspension.
    const known =
      parked.row?.state === "suspended" && parked.row.fence === actor.fence ? parked.row : undefined;
    const [newest, found] = await storage.selectAll([messages, ...(known ? [] : [run])]);
    const row = known ?? found?.[0];
    return row && toTaken(storage, { actor, row, calls, newest, nextSeq: actor.nextSeq });
  }
  // Its last owner may have written until the moment it was taken over.
  const [newest, [row], [actorRow], calls, [lastEvent]] = await storage.selectAll([
    messages,
    run,
    { table: ACTORS, where: here, limit: 1 },
    { table: CALLS, where: { run_id: runId }, orderBy: [{ column: "position" }] },
    {
      table: EVENTS,
      where: here,
      orderBy: [{ column: "first", direction: "desc" }],
      limit: 1,
      columns: ["last"],
    },
  ]);
  if (!actorRow || !row) return undefined;
  const nextSeq = Math.max(actorRow.next_seq, (lastEvent?.last ?? 0) + 1);
  return toTaken(storage, { actor: toActor(actorRow), row, calls, newest, nextSeq });
}

async function toTaken(
  storage: Storage,
  {
    actor,
    row,
    calls,
    newest,
    nextSeq,
  }: ParkedRun & { row: RunRow; newest: readonly MessageRow[]; nextSeq: number },
): Promise<TakenRun> {
  const rows = await messagesOf(storage, row, newest);
  return { resumption: await toResumption(storage, actor, row, calls, rows), nextSeq };
}

async function toResumption(
  storage: Storage,
  actor: Actor,
  row: RunRow,
  callRows: readonly CallRow[],
  rows: readonly MessageRow[],
): Promise<Resumption> {
  const runId = row.id;
  const open = (row.open_step ?? undefined) as OpenStep | undefined;
  const calls = [...callRows.map((row) => toCall(row, open)), ...startedCalls(open, callRows)];
  // A step with open calls is where the run says, or, if it waited, where the journal says.
  const waited = callRows[0];
  const responseId = open?.messageId ?? waited?.message_id ?? row.response_id ?? undefined;
  const lastStep = open?.messageStep ?? waited?.message_step ?? row.response_steps ?? 0;
  const isOpen = responseId !== undefined && calls.length > 0;
  const answers = rows.filter((one) => one.role === "assistant").map(({ id }) => id);
  // An answer of one step has nothing more to read.
  const isShort = lastStep === 0 && answers.every((id) => id === responseId);
  const steps = isShort ? [] : await readSteps(storage, answers);
  const messages = withSteps(rows, steps);
  let parts: MessagePart[] = [];
  if (isOpen) {
    // Already stored if it waited, and not yet part of what the model sees.
    const response = messages.find((message) => message.id === responseId);
    const added = steps.find((one) => one.message_id === responseId && one.step === lastStep);
    const stored = lastStep === 0 ? partsOf(rows, responseId) : ((added?.parts ?? []) as MessagePart[]);
    response?.content.parts.splice(response.content.parts.length - stored.length);
    parts = open?.parts ?? stored;
  }
  return {
    runId,
    options: reviveOptions(row.options as StoredOptions),
    step: row.step,
    next: row.next,
    responseId,
    usage: (row.usage ?? undefined) as Usage | undefined,
    begun: row.first_message_id !== null,
    abort: actor.abortRun === runId,
    openUsage: open?.usage,
    parts,
    calls,
    messages,
    responseSteps: isOpen ? lastStep : lastStep + 1,
  };
}

/** Calls that were about to run and of which the journal knows no more. */
function startedCalls(open: OpenStep | undefined, rows: readonly CallRow[]): JournaledCall[] {
  const known = new Set(rows.map((row) => row.tool_call_id));
  return (open?.started ?? []).flatMap((toolCallId) => {
    if (known.has(toolCallId)) return [];
    const part = open!.parts.find(
      (one) => one.type === "tool-invocation" && one.toolInvocation.toolCallId === toolCallId,
    );
    if (part?.type !== "tool-invocation") return [];
    const { toolName, args } = part.toolInvocation;
    return [
      {
        toolCallId,
        toolName,
        args,
        state: "started" as const,
        requiresApproval: false,
        suspendPayload: undefined,
        resumeSchema: "{}",
        outcome: undefined,
        decision: undefined,
        progress: open!.progress?.[toolCallId],
      },
    ];
  });
}

/** The rows of a run's messages: those of its thread from the first on. */
async function messagesOf(
  storage: Storage,
  { thread_id, first_message_id }: RunRow,
  newest: readonly MessageRow[],
): Promise<MessageRow[]> {
  if (first_message_id === null) return [];
  const index = newest.findIndex(({ id }) => id === first_message_id);
  if (index >= 0) return newest.slice(0, index + 1).reverse();
  const [first] = await storage.select({ table: MESSAGES, where: { id: first_message_id }, limit: 1 });
  if (!first) return [];
  const where = { thread_id, seq: { gte: first.seq } };
  return storage.select({ table: MESSAGES, where, orderBy: [{ column: "seq" }] });
}

function partsOf(rows: readonly MessageRow[], messageId: string): MessagePart[] {
  const row = rows.find(({ id }) => id === messageId);
  return row ? [...(row.content as MessageContent).parts] : [];
}

/** A call that waits for approval has no payload. It has what bounded it instead, if anything does. */
function boundsIn({ suspend_payload }: CallRow): string | undefined {
  return (suspend_payload as { bounds?: string } | null)?.bounds;
}

function toCall(row: CallRow, open: OpenStep | undefined): JournaledCall {
  return {
    toolCallId: row.tool_call_id,
    toolName: row.tool_name,
    args: row.args,
    state: row.state as JournaledCall["state"],
    requiresApproval: row.requires_approval === 1,
    ...(row.requires_approval === 1
      ? { suspendPayload: undefined, bounds: boundsIn(row) }
      : { suspendPayload: row.suspend_payload ?? undefined }),
    resumeSchema: row.resume_schema ?? "{}",
    reason: row.reason ?? undefined,
    outcome: row.outcome ? restoreOutcome(row.outcome as unknown as StoredOutcome) : undefined,
    decision: (row.decision ?? undefined) as Decision | undefined,
    progress: open?.progress?.[row.tool_call_id],
  };
}
