import { DEFAULT_SIGNAL_LIMITS, type SignalLimits } from "../../signal/signal.ts";
import { DEFAULT_RETENTION, type Retention } from "../../storage/prune.ts";
import { DEFAULT_MAILBOX_LIMITS, type MailboxLimits } from "../admit/mailbox.ts";
import { DEFAULT_LEASE, type LeaseLimits } from "../../actor/owner.ts";

export interface ThreadLimits extends Retention {
  signal: SignalLimits;
  mailbox: MailboxLimits;
  lease: LeaseLimits;
  /** Without it a thread has signals and a stream, and forgets what was said when its run ends. */
  keepHistory: boolean;
  /** How many runs this process carries out at once. Above it, messages and calls wait for their turn. */
  maxRuns: number;
  /** How many threads that other processes left are carried out at the same time. */
  recoverAtOnce: number;
  /** How many observations and reflections of observational memory this process carries out at once. */
  omJobs: number;
}

export const DEFAULT_THREAD_LIMITS: ThreadLimits = {
  signal: DEFAULT_SIGNAL_LIMITS,
  mailbox: DEFAULT_MAILBOX_LIMITS,
  lease: DEFAULT_LEASE,
  ...DEFAULT_RETENTION,
  keepHistory: true,
  maxRuns: 1_000,
  recoverAtOnce: 20,
  omJobs: 2,
};
