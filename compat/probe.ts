/** A small program that uses the documented API and returns what a user would see. Both sides run the same one. */
export type Probe = () => unknown;

/** Marks a probe whose result differs on purpose, with the reason that docs/switching.md shows. */
export interface Difference {
  ours: string;
  run: Probe;
}

export type Probes = Record<string, Probe | Difference>;

export function onPurpose(ours: string, run: Probe): Difference {
  return { ours, run };
}

/** The outcome of a call that may fail: what is thrown matters less than whether it is. */
export async function outcome(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch {
    return "throws";
  }
}
