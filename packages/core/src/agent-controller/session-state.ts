import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { AgentError, showValue } from "../errors.ts";
import type { SessionCore } from "./session-core.ts";

/** The state of a session: JSON, validated as a whole, and the same in every process. */
export class SessionState<Shape extends object> {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get(): Shape {
    return { ...this.#core.row.state } as Shape;
  }

  async set(updates: Partial<Shape>): Promise<void> {
    await this.#core.change(async ({ state }) => ({
      patch: { state: await this.#core.host.stateRules.changed(state, updates) },
    }));
  }

  /** Changes the state on top of concurrent changes: `change` may be called more than once. */
  async update<Result = void>(
    change: (state: Shape) => { updates?: Partial<Shape>; events?: AgentControllerEvent[]; result?: Result },
  ): Promise<Result> {
    if (typeof change !== "function")
      throw new AgentError(
        "invalid-argument",
        `state.update needs a function of the state, got ${showValue(change)}.`,
      );
    let answer: ReturnType<typeof change> | undefined;
    await this.#core.change(async ({ state }) => {
      answer = change({ ...state } as Shape);
      if (!answer?.updates) return undefined;
      return { patch: { state: await this.#core.host.stateRules.changed(state, answer.updates) } };
    });
    for (const event of answer?.events ?? []) this.#core.bus.emit(event);
    return answer?.result as Result;
  }
}
