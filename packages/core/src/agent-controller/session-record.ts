import { AgentError } from "../errors.ts";
import type { SessionDomain, SessionPatch, StoredSession } from "./session-domain.ts";
import type { Change, Storage, Write } from "../storage/storage.ts";
import { QueueWatch } from "../thread/inspect/queue-watch.ts";

const KEY = Symbol.for("selvedge.session-hub");
const ATTEMPTS = 1000;
const LOOK_EVERY_MS = 30_000;

type OnChange = (before: StoredSession, after: StoredSession | undefined) => void;

/**
 * The row of a session, as this process knows it. Every change is made on the newest version, and made again where another
 * was faster; changes by others come in by themselves.
 */
export class SessionRecord {
  readonly #domain: SessionDomain;
  readonly #hub: SessionHub;
  #current: StoredSession;
  #line: Promise<unknown> = Promise.resolve();
  #isGone = false;
  /** Told of every new version, whoever made it. `undefined` when the session was deleted. */
  onChange: OnChange = () => {};

  constructor(storage: Storage, domain: SessionDomain, session: StoredSession) {
    this.#domain = domain;
    this.#current = session;
    this.#hub = SessionHub.of(storage, domain);
    this.#hub.add(this);
  }

  get current(): StoredSession {
    return this.#current;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /**
   * Changes the row. `change` gets the newest version, may be asked more than once, and answers what to change, with
   * writes for the same commit; nothing means that nothing is to be done.
   */
  change(
    change: (seen: StoredSession) => Promise<{ patch: SessionPatch; also?: readonly Write[] } | undefined>,
    commit: (writes: readonly Write[]) => Promise<unknown>,
  ): Promise<StoredSession> {
    const turn = this.#line.then(async () => {
      for (let attempt = 0; ; attempt++) {
        const seen = this.#current;
        const wanted = await change(seen);
        if (!wanted) return seen;
        const { write, session } = this.#domain.change(seen, wanted.patch);
        try {
          await commit([write, ...(wanted.also ?? [])]);
        } catch (error) {
          if (!AgentError.is(error, "conflict") || attempt >= ATTEMPTS) throw error;
          await this.refresh();
          // The row was as it was seen, so something else of the commit was not.
          if (this.#current.version === seen.version && attempt >= 3) throw error;
          continue;
        }
        this.take(session);
        this.#hub.made(session);
        return session;
      }
    });
    this.#line = turn.catch(() => {});
    return turn;
  }

  /** The row with a change, for a commit that somebody else makes. Call `made` when it has been. */
  next(patch: SessionPatch): { write: Write; session: StoredSession } {
    return this.#domain.change(this.#current, patch);
  }

  made(session: StoredSession): void {
    this.#hub.made(session);
  }

  /** Reads the row. Throws when there is none any more. */
  async refresh(): Promise<StoredSession> {
    const { controllerId, id } = this.#current;
    const session = await this.#domain.getSession({ controllerId, id });
    this.take(session ?? undefined);
    if (!session || this.#isGone)
      throw new AgentError("not-found", `There is no session "${id}": it was deleted.`);
    return this.#current;
  }

  /** A version that was read or written. Older ones are of no interest. */
  take(session: StoredSession | undefined): void {
    const before = this.#current;
    // One that was deleted and created anew is another session.
    if (!session || session.createdAt.getTime() !== before.createdAt.getTime()) {
      if (this.#isGone) return;
      this.#isGone = true;
      return this.onChange(before, undefined);
    }
    if (session.version <= before.version) return;
    this.#current = session;
    this.onChange(before, session);
  }

  close(): void {
    this.#hub.remove(this);
  }
}

/** All sessions that are open here, of one store: one look at the store tells what others changed. */
class SessionHub {
  readonly #storage: Storage;
  readonly #domain: SessionDomain;
  readonly #open = new Set<SessionRecord>();
  #stop: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #lookAgain = false;
  #cancelTimer: (() => void) | undefined;

  private constructor(storage: Storage, domain: SessionDomain) {
    this.#storage = storage;
    this.#domain = domain;
  }

  static of(storage: Storage, domain: SessionDomain): SessionHub {
    return storage.attach(KEY, () => new SessionHub(storage, domain));
  }

  add(record: SessionRecord): void {
    this.#open.add(record);
    this.#stop ??= this.#storage.watch((change) => this.#heard(change));
    this.#lookLater();
  }

  remove(record: SessionRecord): void {
    this.#open.delete(record);
    if (this.#open.size > 0) return;
    this.#stop?.();
    this.#stop = undefined;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** A store may fail to tell. One look for all sessions, and one at their queues, find what nobody was told. */
  #lookLater(): void {
    this.#cancelTimer ??= this.#domain.system.setTimer(
      LOOK_EVERY_MS,
      () => {
        this.#cancelTimer = undefined;
        if (this.#open.size === 0) return;
        this.#heard("unknown");
        QueueWatch.of(this.#storage).look();
        this.#lookLater();
      },
      { background: true },
    );
  }

  made(session: StoredSession): void {
    for (const record of Array.from(this.#open)) if (isSame(record.current, session)) record.take(session);
  }

  #heard(change: Change): void {
    if (change !== "unknown" && ![...this.#open].some(({ current }) => change.keys.has(current.id))) return;
    if (this.#looking) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#look()
      // A store that does not answer changes again when it does.
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined;
        if (!this.#lookAgain) return;
        this.#lookAgain = false;
        this.#heard("unknown");
      });
  }

  async #look(): Promise<void> {
    const byController = Map.groupBy(this.#open, ({ current }) => current.controllerId);
    for (const [controllerId, records] of byController) {
      const ids = [...new Set(records.map(({ current }) => current.id))];
      const found = await this.#domain.getSessions(controllerId, ids);
      for (const record of records) record.take(found.find((session) => isSame(record.current, session)));
    }
  }
}

function isSame(a: StoredSession, b: StoredSession): boolean {
  return a.id === b.id && a.controllerId === b.controllerId;
}
