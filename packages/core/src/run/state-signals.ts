import type { StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { ComputedState, StateSignal } from "../processor/processor.ts";
import type { SignalRecord } from "@selvedge/protocol/session";
import { createSignal, type SignalInput } from "../signal/signal.ts";
import { checkLaneId, checkState, type StateMode, type StateSignalInput } from "../signal/lane.ts";
import type { Run } from "./run.ts";

/**
 * Lets the processors that own a lane report its state before the model is called. Without a thread there are no lanes.
 */
export async function computeStates(run: Run, stepNumber: number): Promise<void> {
  const { list, journal } = run.spec;
  if (!journal) return;
  await run.pipeline.computeStates(
    list,
    { stepNumber, steps: run.steps },
    async (laneId) => {
      const window = list.get.all.db().flatMap((message) => toStateSignal(message) ?? []);
      const tracking = await journal.history.lane(laneId);
      const shown = sinceSnapshot(window, laneId);
      const hasSnapshot = shown[0]?.mode === "snapshot";
      const stored =
        hasSnapshot || !tracking?.lastSnapshotId
          ? []
          : await journal.history.signalsSince(tracking.lastSnapshotId);
      const known = hasSnapshot
        ? shown
        : sinceSnapshot(
            stored.flatMap((message) => toStateSignal(message) ?? []),
            laneId,
          );
      const lastSnapshot = known[0]?.mode === "snapshot" ? known[0] : undefined;
      const deltasSinceSnapshot = lastSnapshot ? known.slice(1) : known;
      return {
        activeStateSignals: window,
        contextWindow: { hasSnapshot },
        lastSnapshot,
        deltasSinceSnapshot,
        tracking: tracking && {
          ...tracking,
          currentCacheKey: tracking.cacheKey,
          currentMode: tracking.mode,
          lastSnapshotSignalId: tracking.lastSnapshotId,
        },
      };
    },
    (state) => tell(run, state),
  );
}

/**
 * States reported by processors at a time when nothing could be sent: before the input was stored, or during a step.
 */
export async function tellStates(run: Run): Promise<void> {
  for (const state of run.takeStates()) await tell(run, state);
}

/** Reports a state on a processor's own initiative. An invalid one is refused now, even if it is sent later. */
export async function sendStateSignal(run: Run, state: StateSignalInput): Promise<void> {
  const id = checkLaneId(state?.id);
  checkState(state);
  createSignal({ type: "state", contents: state.contents, ...parts(state) }, run.spec.system);
  if (!run.spec.journal) return;
  run.tellLater({ ...state, id });
  if (!run.step && !run.early) await tellStates(run);
}

const ATTEMPTS = 5;

/** Adds a lane's state to the conversation, unless the model already reads exactly that. */
async function tell(run: Run, state: ComputedState & { id: string }): Promise<void> {
  const { list, system } = run.spec;
  const journal = run.spec.journal!;
  checkLaneId(state.id);
  const { mode } = checkState(state);
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const lane = await journal.history.lane(state.id);
    const current = lane?.cacheKey === state.cacheKey && lane.mode === mode;
    const shown = list.get.all
      .db()
      .flatMap((message) => toStateSignal(message) ?? [])
      .some(
        (signal) => signal.laneId === state.id && signal.cacheKey === state.cacheKey && signal.mode === mode,
      );
    if (current && shown) return;
    // Repeating the same state because it left the model's window is not a new version.
    const version = current ? lane.version : (lane?.version ?? 0) + 1;
    const signal = createSignal(
      {
        type: "state",
        contents: state.contents,
        metadata: {
          ...state.metadata,
          state: { id: state.id, threadId: run.spec.threadId, cacheKey: state.cacheKey, version, mode },
          ...(state.value !== undefined && { value: state.value }),
          ...(state.delta !== undefined && { delta: state.delta }),
        },
        ...parts(state),
      },
      system,
    );
    const advance = current
      ? []
      : [
          journal.history.advanceLane(state.id, lane, {
            cacheKey: state.cacheKey,
            mode,
            signalId: signal.id,
          }),
        ];
    if (!(await journal.record(signal, advance))) continue;
    await run.join(signal);
    return;
  }
  throw new AgentError(
    "conflict",
    `Lane "${state.id}" changed ${ATTEMPTS} times while its state was being sent.`,
  );
}

function parts({ tagName, attributes }: ComputedState): Pick<SignalInput, "tagName" | "attributes"> {
  return { ...(tagName !== undefined && { tagName }), ...(attributes && { attributes }) };
}

/** The newest snapshot of a lane and what followed it; without one, the whole lane. */
function sinceSnapshot(signals: StateSignal[], laneId: string): StateSignal[] {
  const own = signals.filter((signal) => signal.laneId === laneId);
  const snapshot = own.findLastIndex((signal) => signal.mode === "snapshot");
  return snapshot < 0 ? own : own.slice(snapshot);
}

function toStateSignal(message: StoredMessage): StateSignal | undefined {
  const record = message.content.metadata?.["signal"] as SignalRecord | undefined;
  const state = record?.metadata?.["state"] as
    | { id: string; mode: StateMode; cacheKey: string; version: number }
    | undefined;
  if (record?.type !== "state" || !state) return undefined;
  const { value, delta } = record.metadata as { value?: unknown; delta?: unknown };
  return {
    id: record.id,
    laneId: state.id,
    mode: state.mode,
    cacheKey: state.cacheKey,
    version: state.version,
    contents: message.content.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n"),
    ...(value !== undefined && { value }),
    ...(delta !== undefined && { delta }),
    metadata: record.metadata ?? {},
    createdAt: new Date(record.createdAt),
  };
}
