import type { System } from "../../system.ts";

/** Other work gets a turn at least this often. */
const SLICE_MS = 4;

/** A function to call often during long work: every 4 ms it waits for a turn of the event loop. Throws once aborted. */
export function turns(system: System, signal?: AbortSignal): () => Promise<void> | void {
  let sliceEnd = system.monotonic() + SLICE_MS;
  return () => {
    signal?.throwIfAborted();
    if (system.monotonic() < sliceEnd) return undefined;
    return new Promise((resolve) => {
      system.setTimer(0, () => {
        sliceEnd = system.monotonic() + SLICE_MS;
        resolve();
      });
    });
  };
}
