import { AgentError } from "../errors.ts";
import {
  isSameSession,
  type SessionDomain,
  type SessionPatch,
  type StoredSession,
} from "./session-domain.ts";
import type { Change, Storage, Write } from "../storage/storage.ts";
import { QueueWatch } from "../thread/inspect/queue-watch.ts";

const KEY = Symbol.for("selvedge.session-hub");
const ATTEMPTS = 1000;
const LOOK_EVERY_MS = 30_000;
const AT_ONCE = 500;

type OnChange = (before: StoredSession, after: StoredSession | undefined) => void;

/**
 * The row of a session in this process. A change applies to the newest version and is repeated after a conflict. Changes
 * by other processes arrive by themselves.
 */
export class SessionRecord {
  readonly #domain: SessionDomain;
  readonly #hub: SessionHub;
  #current: StoredSession;
  #line: Promise<unknown> = Promise.resolve();
  #isGone = false;
  /** Called with every new version, from any process. `undefined` when the session was deleted. */
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
   * Changes the row. `change` receives the newest version and returns what to change, with writes for the same commit, or
   * `undefined` to change nothing. It may be called more than once.
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

  /**
   * A row with a change, as a write for another commit. It fails if the row is no longer the one that the change was made
   * from. Call `made` when it has succeeded.
   */
  next(row: StoredSession, patch: SessionPatch): { write: Write; session: StoredSession } {
    return this.#domain.change(row, patch);
  }

  made(session: StoredSession): void {
    this.#hub.made(session);
  }

  /** Reads the row. Throws if it was deleted. */
  async refresh(): Promise<StoredSession> {
    const { controllerId, id } = this.#current;
    const session = await this.#domain.getSession({ controllerId, id });
    this.take(session ?? undefined);
    if (!session || this.#isGone)
      throw new AgentError("not-found", `There is no session "${id}": it was deleted.`);
    return this.#current;
  }

  /** Accepts a version that was read or written, unless a newer one is known. */
  take(session: StoredSession | undefined): void {
    const before = this.#current;
    // If it was deleted and created again, it is another session.
    if (!session || !isSameSession(session, before)) {
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

/** The open sessions of one store. One read finds what other processes changed in all of them. */
class SessionHub {
  readonly #storage: Storage;
  readonly #domain: SessionDomain;
  readonly #open = new Set<SessionRecord>();
  #stop: (() => void) | undefined;
  /** The ids of the sessions that are read next. */
  #due = new Set<string>();
  #looking = false;
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

  /** Change notices can be lost, so all sessions and their queues are read periodically. */
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
    for (const { current } of this.#open)
      if (change === "unknown" || change.keys.has(current.id)) this.#due.add(current.id);
    this.#readDue();
  }

  #readDue(): void {
    if (this.#looking || this.#due.size === 0) return;
    const due = this.#due;
    this.#due = new Set();
    this.#looking = true;
    this.#look(due)
      // A store that does not respond is read again with its next change.
      .catch(() => {})
      .finally(() => {
        this.#looking = false;
        this.#readDue();
      });
  }

  async #look(due: ReadonlySet<string>): Promise<void> {
    const records = [...this.#open].filter(({ current }) => due.has(current.id));
    for (const [controllerId, own] of Map.groupBy(records, ({ current }) => current.controllerId))
      for (let first = 0; first < own.length; first += AT_ONCE) {
        const some = own.slice(first, first + AT_ONCE);
        const ids = [...new Set(some.map(({ current }) => current.id))];
        const found = await this.#domain.getSessions(controllerId, ids);
        const byId = new Map(found.map((session) => [session.id, session]));
        for (const record of some) record.take(byId.get(record.current.id));
      }
  }
}

function isSame(a: StoredSession, b: StoredSession): boolean {
  return a.id === b.id && a.controllerId === b.controllerId;
}
