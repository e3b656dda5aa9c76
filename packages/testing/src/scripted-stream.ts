import { setTimeout as delay } from "node:timers/promises";
import type { ScriptedReply } from "./scripted-parts.ts";

type StreamFaults = Pick<ScriptedReply, "error" | "errorAfter" | "cutAfter" | "hang" | "chunkDelayMs">;

/** The parts as a stream that delays, breaks, ends or falls silent where the script says. */
export function scriptedStream<Part>(
  parts: readonly Part[],
  faults: StreamFaults,
  signal: AbortSignal | undefined,
): ReadableStream<Part> {
  const { errorAfter, cutAfter, hang, chunkDelayMs } = faults;
  const silentAfter = typeof hang === "object" ? hang.after : undefined;
  let sent = 0;
  let stopListening: () => void = () => {};

  function next(controller: ReadableStreamDefaultController<Part>): void {
    if (sent === errorAfter) {
      stopListening();
      controller.error(
        "error" in faults ? faults.error : new Error(`The scripted stream broke after ${sent} parts.`),
      );
    } else if (sent === parts.length || sent === cutAfter) {
      stopListening();
      controller.close();
    } else {
      controller.enqueue(parts[sent++]!);
    }
  }

  return new ReadableStream<Part>(
    {
      start(controller) {
        if (!signal) return;
        const onAbort = (): void => controller.error(signal.reason);
        signal.addEventListener("abort", onAbort, { once: true });
        stopListening = () => signal.removeEventListener("abort", onAbort);
      },
      pull(controller) {
        if (sent === silentAfter) return new Promise(() => {});
        if (chunkDelayMs === undefined) return next(controller);
        return wait(chunkDelayMs, signal).then(() => next(controller));
      },
      cancel: () => stopListening(),
    },
    { highWaterMark: 0 },
  );
}

/** Resolves after `ms`; rejects with the signal's reason. */
export async function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(ms, undefined, signal && { signal });
  } catch {
    signal!.throwIfAborted();
  }
}

/** Settles only when the signal aborts. */
export function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
