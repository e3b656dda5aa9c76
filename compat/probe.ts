/** A small program that uses the documented API and returns what a user would see. Both sides run the same one. */
export type Probe = () => unknown;

/** Marks a probe whose result differs on purpose, with the reason that docs/switching.md shows. */
export interface Difference {
  ours: string;
  run: Probe;
  /** Not built yet, rather than different on purpose. */
  missing?: true;
}

export type Probes = Record<string, Probe | Difference>;

export function onPurpose(ours: string, run: Probe): Difference {
  return { ours, run };
}

/** Marks a probe of something that is not built yet. */
export function notYet(ours: string, run: Probe): Difference {
  return { ours, run, missing: true };
}

/** The outcome of a call that may fail: what is thrown matters less than whether it is. */
export async function outcome(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch {
    return "throws";
  }
}
