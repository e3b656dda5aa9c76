import { AgentError, showValue } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { CreatedAgentSignal, SignalAttributes } from "../signal/signal.ts";
import { checkId } from "../storage/check-id.ts";
import type { Admitted, DeliveryOptions, ThreadAddress } from "../thread/threads.ts";

/** The thread of an active run of this process. */
interface RunAddress {
  runId: string;
  resourceId?: undefined;
  threadId?: undefined;
}

/** What a message or signal does at its destination. */
interface SendBehavior {
  ifActive?: { behavior?: "deliver" | "persist" | "discard"; attributes?: SignalAttributes };
  ifIdle?: {
    behavior?: "wake" | "persist" | "discard";
    attributes?: SignalAttributes;
    streamOptions?: AgentExecutionOptions;
  };
  /** Sending the same key to a thread again has no effect and returns the first result. */
  idempotencyKey?: string;
}

/** Where a message or signal goes, and what it does there. */
export type SendOptions = ((ThreadAddress & { runId?: string }) | RunAddress) & SendBehavior;
/** The same for sends that need a thread, whether or not a run is active on it. */
export type SendToThreadOptions = ThreadAddress & { runId?: string } & SendBehavior;

export interface SendResult {
  accepted: true;
  /** The run that will see the message, as far as this process knows. `admitted` knows for certain. */
  runId: string;
  /** The signal as sent; once `admitted` has resolved, as accepted. */
  signal: CreatedAgentSignal;
  /** For `persist`: resolves when it is stored. */
  persisted?: Promise<void>;
  /** Resolves when the message is stored, with its outcome; rejects if it could not be stored. */
  admitted: Promise<Admitted>;
}

export type SendStateResult =
  | (SendResult & { skipped?: false })
  | { accepted: true; skipped: true; reason: "unchanged" };

const ACTIVE = new Set(["deliver", "persist", "discard"]);
const IDLE = new Set(["wake", "persist", "discard"]);

/** Refuses invalid options before anything is done with them. */
export function checkSend(options: SendBehavior): void {
  for (const [name, value] of [
    ["options", options],
    ["ifActive", options?.ifActive ?? {}],
    ["ifIdle", options?.ifIdle ?? {}],
  ] as const) {
    if (typeof value !== "object" || value === null || Array.isArray(value))
      throw bad(`${name} must be an object, got ${showValue(value)}.`);
  }
}

export function toDelivery(options: SendBehavior, queued: boolean): DeliveryOptions {
  const ifActive = options.ifActive?.behavior ?? "deliver";
  const ifIdle = options.ifIdle?.behavior ?? "wake";
  if (!ACTIVE.has(ifActive))
    throw bad(`ifActive.behavior must be "deliver", "persist" or "discard", got ${showValue(ifActive)}.`);
  if (!IDLE.has(ifIdle))
    throw bad(`ifIdle.behavior must be "wake", "persist" or "discard", got ${showValue(ifIdle)}.`);
  return { queued, ifActive, ifIdle };
}

/** The thread a send names. A message needs both ids: a thread belongs to a resource. */
export function checkTarget(
  options: Partial<ThreadAddress> | RunAddress,
): { threadId: string; resourceId: string } | undefined {
  const { threadId, resourceId } = options;
  if (threadId === undefined && resourceId === undefined) return undefined;
  if (threadId === undefined || resourceId === undefined) {
    throw bad(
      `Pass resourceId and threadId together, got resourceId ${showValue(resourceId)} and threadId ${showValue(threadId)}.`,
    );
  }
  return { threadId: checkId("threadId", threadId), resourceId: checkId("resourceId", resourceId) };
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
