import type { OmLimits } from "./om-limits.ts";

/** The state of a record's work, all of it as sums in the store. */
export interface OmSums {
  /** Tokens of the messages that no active chunk covers. */
  pendingTokens: number;
  /** Of these, what buffered chunks cover. */
  bufferedMessageTokens: number;
  /** Of these, what a waiting or running job covers. */
  jobMessageTokens: number;
  /** Tokens of the active log. */
  logTokens: number;
  /** Whether a reflection is waiting, running, or ready to be activated. */
  hasReflection: boolean;
  /** Tokens of the log when it was last reflected without a usable result; 0 if chunks may be reflected. */
  triedLogTokens?: number | undefined;
}

export interface DueJob {
  kind: "observe" | "reflect";
  /** The job covers whole messages from the first uncovered one on, up to about this many tokens. */
  maxTokens: number;
}

/**
 * The jobs that are due after a step, the end of a turn, or a finished job. One observation at a time: the next is
 * planned when its result is committed, so a backlog is observed in pieces of `messageTokens`, oldest first.
 */
export function planJobs(sums: OmSums, limits: OmLimits, at: { turnEnded?: boolean } = {}): DueJob[] {
  const jobs: DueJob[] = [];
  const { pendingTokens, bufferedMessageTokens, jobMessageTokens, logTokens } = sums;
  const uncovered = pendingTokens - bufferedMessageTokens - jobMessageTokens;
  const interval = at.turnEnded ? 1 : (limits.bufferTokens ?? limits.messageTokens);
  // At the threshold everything is due, even if the last interval is not full.
  const isFull = pendingTokens >= limits.messageTokens && bufferedMessageTokens === 0;
  if (jobMessageTokens === 0 && uncovered > 0 && (uncovered >= interval || isFull)) {
    jobs.push({ kind: "observe", maxTokens: limits.messageTokens });
  }
  const isNew = logTokens > (sums.triedLogTokens ?? 0);
  if (!sums.hasReflection && isNew && logTokens >= limits.reflectFrom) {
    jobs.push({ kind: "reflect", maxTokens: logTokens });
  }
  return jobs;
}

/** Whether a run waits at this step border for the job of a role. */
export function mustWait(sums: OmSums, limits: OmLimits): { observe: boolean; reflect: boolean } {
  const uncovered = sums.pendingTokens - sums.bufferedMessageTokens;
  const isBuffered = limits.bufferTokens !== undefined;
  const over = (value: number, bound: number): boolean => (isBuffered ? value > bound : value >= bound);
  return {
    observe: uncovered > 0 && over(sums.pendingTokens, limits.blockMessagesAbove),
    reflect: over(sums.logTokens, limits.blockLogAbove),
  };
}
