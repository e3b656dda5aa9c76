import type { SessionInfo } from "@selvedge/protocol/session";
import { call, type CallResult } from "./call.ts";
import { checkName } from "./check-name.ts";
import { ClientSession } from "./client-session.ts";
import type { SessionOptions } from "./session-line.ts";
import type { Transport } from "./transport.ts";

/** An agent controller on a server. */
export class ClientController {
  readonly id: string;
  readonly #transport: Transport;

  constructor(transport: Transport, id: string) {
    this.#transport = transport;
    this.id = checkName("a controller", id);
  }

  /** Returns a session by its id, or the resource's default session. */
  session(sessionId?: string, options?: SessionOptions): ClientSession {
    return new ClientSession(this.#transport, this.id, sessionId, options);
  }

  async listModes(): Promise<CallResult<"listControllerModes">["modes"]> {
    return (await call(this.#transport, "listControllerModes", this.#params)).modes;
  }

  async listAvailableModels(): Promise<CallResult<"listControllerModels">["models"]> {
    return (await call(this.#transport, "listControllerModels", this.#params)).models;
  }

  async listSessions(query: { resourceId?: string; limit?: number } = {}): Promise<SessionInfo[]> {
    return (await call(this.#transport, "listSessions", { ...this.#params, query })).sessions;
  }

  /** Aborts the session's active run. Its threads are kept. */
  async deleteSession({ id }: { id: string }): Promise<void> {
    const params = { ...this.#params.params, sessionId: id };
    await call(this.#transport, "deleteSession", { params });
  }

  get #params(): { params: { controllerId: string } } {
    return { params: { controllerId: this.id } };
  }
}
