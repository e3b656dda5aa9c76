/** The kinds of signals that can enter a thread. */
export const SIGNAL_TYPES = ["user", "state", "reactive", "notification"] as const;

export type SignalType = (typeof SIGNAL_TYPES)[number];
