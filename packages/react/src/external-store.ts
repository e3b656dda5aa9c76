/** At most one render per this many milliseconds of chunks. */
const FRAME_MS = 16;
/** In strict mode, React unsubscribes and resubscribes at once. */
const LEAVE_MS = 200;

/** The store behind `useSyncExternalStore`: a snapshot that is replaced, and listeners. */
export abstract class ExternalStore<Snapshot> {
  #snapshot: Snapshot;
  readonly #listeners = new Set<() => void>();
  #frame: ReturnType<typeof setTimeout> | undefined;
  #leaving: ReturnType<typeof setTimeout> | undefined;
  #started = false;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
  }

  /** The same object until something changes. */
  readonly getSnapshot = (): Snapshot => this.#snapshot;

  /** The first listener starts the store; it stops a while after the last has left. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    clearTimeout(this.#leaving);
    if (!this.#started) {
      this.#started = true;
      this.start();
    }
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size > 0) return;
      clearTimeout(this.#leaving);
      this.#leaving = setTimeout(() => this.#stopIfLeft(), LEAVE_MS);
    };
  };

  protected abstract start(): void;
  protected abstract stop(): void;
  /** The current state to show. */
  protected abstract build(): Snapshot;

  /** Publishes a change now. */
  protected publish(): void {
    clearTimeout(this.#frame);
    this.#frame = undefined;
    this.#snapshot = this.build();
    for (const listener of this.#listeners) listener();
  }

  /** Publishes a change together with those that follow shortly. */
  protected publishSoon(): void {
    this.#frame ??= setTimeout(() => this.publish(), FRAME_MS);
  }

  #stopIfLeft(): void {
    if (this.#listeners.size > 0 || !this.#started) return;
    this.#started = false;
    clearTimeout(this.#frame);
    this.#frame = undefined;
    this.stop();
  }
}
