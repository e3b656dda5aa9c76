const WAITING = Symbol("waiting");

type OwnSignal = AbortSignal & { [WAITING]?: Set<AbortWaiter> };

/** Called at once when a run is aborted. Named like an event listener, so that one object can be both. */
export interface AbortWaiter {
  handleEvent(): void;
}

/**
 * A controller whose signal has a list of its own beside the event listeners, for those who wait often and shortly, as every
 * step of a run does. A listener is dear: what it refers to, here the whole run, is kept until the next full collection.
 */
export class OwnAbortController extends AbortController {
  constructor() {
    super();
    (this.signal as OwnSignal)[WAITING] = new Set();
  }

  override abort(reason?: unknown): void {
    if (this.signal.aborted) return;
    super.abort(reason);
    for (const waiter of (this.signal as OwnSignal)[WAITING]!) waiter.handleEvent();
  }
}

/** Has the waiter told of an abort. On any signal; cheap on those of an `OwnAbortController`. */
export function onAbort(signal: AbortSignal, waiter: AbortWaiter): void {
  const waiting = (signal as OwnSignal)[WAITING];
  if (waiting) waiting.add(waiter);
  else signal.addEventListener("abort", waiter);
}

/** The waiter does not want to know any more. */
export function offAbort(signal: AbortSignal, waiter: AbortWaiter): void {
  const waiting = (signal as OwnSignal)[WAITING];
  if (waiting) waiting.delete(waiter);
  else signal.removeEventListener("abort", waiter);
}

/** Aborts a controller when a signal does, until the returned function is called. Refers to nothing else. */
export function passOnAbort(signal: AbortSignal, controller: AbortController): () => void {
  const passOn = () => controller.abort(signal.reason);
  if (signal.aborted) passOn();
  else signal.addEventListener("abort", passOn);
  return () => signal.removeEventListener("abort", passOn);
}
