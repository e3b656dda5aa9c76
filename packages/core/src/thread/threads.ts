import type { StoredMessage } from "@selvedge/protocol";
import { defaultLogger, type Logger } from "../logger.ts";
import type { MemoryThreads } from "../memory/memory.ts";
import type { Decision, Resumption } from "../run/resume.ts";
import type { RunJournal } from "../run/run-journal.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import type { StoredOptions } from "../run/stored-options.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { AdmittedSignal, SendRequest } from "./admit/admission.ts";
import { LocalThreads } from "./hold/local-threads.ts";
import type { DecideOptions } from "./journal/decide-call.ts";
import type { ThreadLimits } from "./hold/thread-limits.ts";
import type { AgentThreadSubscription } from "./log/thread-reader.ts";

/** A thread belongs to a resource, so both ids identify it. */
export interface ThreadAddress {
  threadId: string;
  resourceId: string;
}

/** A run that wants to be on a thread. */
export interface JoinRequest {
  runId: string;
  agentId: string;
  /** What another process needs to continue the run. */
  options: StoredOptions;
  /** What the caller says about the thread. */
  title?: string;
  metadata?: Record<string, unknown>;
  /** A run of this process waits for it, so it does not wait for a free place among the process's runs. */
  nested: boolean;
  /** How many of the newest messages the run will ask for: they are read with the thread. */
  recent: number;
}

/** What this process knows about a thread without reading the store. */
export interface KnownThread extends ThreadAddress {
  /** The active run, or one that a send of this process is about to open. */
  readonly activeRun: { runId: string; agentId: string | undefined } | undefined;
  /** Whether it waits for a free place among the process's runs. */
  readonly isInLine: boolean;
  /** Announces that a send is about to open a run, so that later sends join it. Returns a function that cancels. */
  reserve(runId: string, agentId: string): () => void;
}

/** A run whose thread this process holds, for its agent to carry out. */
export interface RunAssignment extends ThreadAddress {
  runId: string;
  journal: RunJournal;
  /** What opened the run; absent for a continued one. `live` are the sender's own options, if it is here. */
  opener?: {
    signal: CreatedAgentSignal;
    /** Instead of the signal: results of a client's tools. */
    messages?: StoredMessage[] | undefined;
    options: StoredOptions | undefined;
    live: AgentExecutionOptions | undefined;
  };
  /** How far the run got; absent for a new one. */
  resumption?: Resumption;
}

/** What carries out runs: an agent. */
export interface RunCarrier {
  readonly id: string;
  /** Takes a run and carries it to its end. Must not reject. */
  takeUp(assignment: RunAssignment): Promise<void>;
}

/** Identifies a waiting call: of the active run of a thread, or of a run of an agent. */
export type CallAddress = (
  | { threadId: string; resourceId?: string | undefined }
  | { runId: string; agentId: string }
) & {
  /** Optional when only one call waits. */
  toolCallId: string | undefined;
};

/** The threads of a store: the only way into thread/ for the rest of the program. */
export interface Threads extends MemoryThreads {
  readonly storage: Storage;
  readonly system: System;
  readonly limits: ThreadLimits;
  /** Decides what happens to a message and stores it. Resolves when it is stored. */
  send(target: ThreadAddress, request: SendRequest): Promise<AdmittedSignal>;
  /**
   * A place for a call's own run, if the resource owns the thread. The run waits for its turn when it acquires the
   * journal.
   */
  join(target: ThreadAddress, request: JoinRequest): Promise<RunJournal>;
  /** Answers a waiting tool call, once. Its run continues in whichever process takes it. */
  decide(
    address: CallAddress,
    decision: Decision,
    options?: DecideOptions,
  ): Promise<{ runId: string; toolCallId: string }>;
  /**
   * Marks that runs of this process wait for those of a thread, which therefore need no free place. Returns a function
   * that undoes it.
   */
  expect(target: ThreadAddress): () => void;
  /** Whether a signal of the agent would join a run now, in any process, or open one. */
  stateFor(target: ThreadAddress, agentId: string): Promise<"active" | "idle">;
  /** The thread's queue may have changed: the active run checks before its next step. */
  mailMayHaveCome(target: ThreadAddress): void;
  /** Aborts the active run, in any process. Returns false if this process knows of none. */
  abort(target: ThreadAddress): boolean;
  /** Follows the stream of a thread: from the chunk after number `after`, or from its active run on. */
  read(
    target: { threadId: string; resourceId?: string | undefined },
    after?: number,
  ): Promise<AgentThreadSubscription>;
  /** What is known about a thread, or about the thread of a run of this process. */
  known(target: ThreadAddress): KnownThread;
  known(target: { runId: string }): KnownThread | undefined;
  /** From now on, runs of this agent are carried out here. */
  serve(agent: RunCarrier): void;
  /** Takes over what other processes left, now and from then on. Resolves when everything present was found. */
  recover(): Promise<void>;
  /** Waits briefly for the runs of this process to end; others take over the rest. */
  close(): Promise<void>;
}

/** The threads of a store in this process. The first caller decides clock, logger and limits. */
export function openThreads(
  storage: Storage,
  system: System,
  logger: Logger = defaultLogger,
  limits: Partial<ThreadLimits> = {},
): Threads {
  return LocalThreads.of(storage, system, logger, limits);
}

export type { Admitted, AdmittedSignal, SendRequest } from "./admit/admission.ts";
export { decideDelivery, type Delivery, type DeliveryOptions } from "./admit/delivery.ts";
export { DEFAULT_THREAD_LIMITS, type ThreadLimits } from "./hold/thread-limits.ts";
export { type NumberedChunk, toBroadcast } from "./log/event-log.ts";
export type { DecidedCall, DecideOptions } from "./journal/decide-call.ts";
export type { AgentThreadSubscription } from "./log/thread-reader.ts";
