import { AgentError } from "@selvedge/protocol";
import type { RouteCalls } from "@selvedge/protocol/routes";
import { type SessionInfo, SessionView } from "@selvedge/protocol/session";
import { call, type CallInput, type CallResult } from "./call.ts";
import type { ReconnectOptions } from "./chunk-stream.ts";
import { SessionStream } from "./session-stream.ts";
import type { RequestInput, Transport } from "./transport.ts";

export interface SessionOptions {
  /** The owner of the session, if the server has no authorize function. */
  resourceId?: string;
  /** The thread to open. Created if it does not exist. */
  threadId?: string;
  /** For a new session: it uses only threads that have all of these tags. */
  tags?: Record<string, string>;
  reconnect?: ReconnectOptions;
  /** Called when the connection breaks and when it is restored. */
  onConnection?: (state: "live" | "reconnecting", error?: Error) => void;
}

/** Routes with nothing but the controller and the session in their path. */
type InSession = {
  [Name in keyof RouteCalls]: RouteCalls[Name] extends { params: { controllerId: string; sessionId: string } }
    ? Name
    : never;
}[keyof RouteCalls];

/** Routes that return the updated session and need only a body. */
type Changing =
  | "switchSessionMode"
  | "switchSessionModel"
  | "switchSessionThread"
  | "moveSession"
  | "setSessionState"
  | "setCategoryPermission"
  | "setToolPermission"
  | "grantPermissions"
  | "revokePermissions";

type Own = "controllerId" | "sessionId";
type ParamsOf<Name extends InSession> = RouteCalls[Name] extends { params: infer Params } ? Params : never;
/** The arguments of a call, besides the session. */
type PartialInput<Name extends InSession> = Omit<CallInput<Name>, "params"> &
  ([Exclude<keyof ParamsOf<Name>, Own>] extends [never]
    ? { params?: never }
    : { params: Omit<ParamsOf<Name>, Own> });

const SYSTEM = {
  setTimer(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  },
};
const LOGGER = {
  warn: (message: string, ...details: unknown[]): void => console.warn(`[selvedge] ${message}`, ...details),
};

/** The connection of a session: its event stream, and the requests sent in the meantime. */
export class SessionLine {
  readonly #transport: Transport;
  readonly #controllerId: string;
  readonly #asked: string | undefined;
  readonly #options: SessionOptions;
  readonly view: SessionView = new SessionView({ system: SYSTEM, logger: LOGGER });
  readonly #waiters = new Set<() => void>();
  #stream: SessionStream | undefined;
  #opening: Promise<void> | undefined;
  #id: string | undefined;
  #closed = false;
  /** Why the connection ended. */
  #lost: Error | undefined;

  constructor(
    transport: Transport,
    controllerId: string,
    id: string | undefined,
    options: SessionOptions = {},
  ) {
    this.#transport = transport;
    this.#controllerId = controllerId;
    this.#asked = id;
    this.#options = options;
  }

  /** Opens the session, or creates it. Resolves when the stored state is loaded. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Closes the connection. The session continues. */
  close(): void {
    this.#closed = true;
    this.#stream?.leave();
    this.view.close();
    this.#changed();
  }

  get info(): SessionInfo {
    if (this.view.session) return this.view.session;
    throw new AgentError("not-found", "This session is not open yet. Await session.open() first.");
  }

  requireThread(): string {
    const { id, threadId } = this.info;
    if (threadId !== undefined) return threadId;
    throw new AgentError("not-found", `Session "${id}" has no thread. Create or select one first.`);
  }

  async call<Name extends InSession>(name: Name, input: PartialInput<Name>): Promise<CallResult<Name>> {
    await this.open();
    const own = { controllerId: this.#controllerId, sessionId: this.#id! };
    const { params } = input as RequestInput;
    return call(this.#transport, name, { ...(input as RequestInput), params: { ...params, ...own } });
  }

  async change(name: Changing, body: object): Promise<void> {
    await this.reached(await this.call(name, { body } as never));
  }

  /** Resolves when the stream has delivered the version that a response named. */
  async reached(session: SessionInfo): Promise<void> {
    while (!this.#closed && (this.view.session?.version ?? 0) < session.version) {
      if (this.#lost) throw this.#lost;
      await new Promise<void>((resolve) => this.#waiters.add(resolve));
    }
  }

  async #open(): Promise<void> {
    const { resourceId, threadId, tags, reconnect = {}, onConnection } = this.#options;
    if (this.#closed) throw new AgentError("invalid-argument", "This session was closed. Get another one.");
    const params = { controllerId: this.#controllerId };
    const body = {
      ...(this.#asked !== undefined && { id: this.#asked }),
      ...(resourceId !== undefined && { resourceId }),
      // A session that is opened again later stays where it went.
      ...(threadId !== undefined && this.#id === undefined && { threadId }),
      ...(tags && { tags }),
    };
    const { id } = await call(this.#transport, "createSession", { params, body }, { repeatable: true });
    this.#id = id;
    this.#lost = undefined;
    this.#stream = new SessionStream({
      view: this.view,
      reconnect,
      onConnection,
      onFrame: () => this.#changed(),
      open: (lastEventId, signal) =>
        call(
          this.#transport,
          "streamSession",
          {
            params: { ...params, sessionId: id },
            signal,
            ...(lastEventId !== undefined && { headers: { "last-event-id": lastEventId } }),
          },
          { repeatable: false },
        ),
    });
    await this.#stream.start((error) => {
      this.#opening = undefined;
      this.#lost = error;
      this.#changed();
      if (!this.#closed) this.view.emit({ type: "error", error });
    });
  }

  #changed(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}
