import { AgentError, showValue } from "../errors.ts";
import type { SignalContents } from "../signal/signal.ts";
import { editQueued, hurryQueued, listQueued, moveQueued, removeQueued } from "../thread/inspect/queue.ts";
import { checkOptions } from "./check-options.ts";
import { type AgentControllerMessageContent, fromContents } from "@selvedge/protocol/session";
import { quietly } from "./quietly.ts";
import type { SessionCore } from "./session-core.ts";

/** A queued message. It will open a separate run. */
export interface QueuedFollowUp {
  id: string;
  content: AgentControllerMessageContent[];
  createdAt: Date;
}

/** Messages queued on a session's thread until the active run ends. They belong to the thread. */
export class FollowUps {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  count(): number {
    return this.#core.display.queuedFollowUps;
  }

  isEmpty(): boolean {
    return this.count() === 0;
  }

  async list(): Promise<QueuedFollowUp[]> {
    await this.#core.ready();
    const { threadId, host } = this.#core;
    if (threadId === undefined) return [];
    const queued = await listQueued(host.storage, threadId);
    return queued
      .filter(({ due }) => due === "next")
      .map(({ id, signal }) => ({ id, content: fromContents(signal.contents), createdAt: signal.createdAt }));
  }

  async edit(options: { id: string; content: SignalContents }): Promise<void> {
    const { id, content } = checkOptions("followUps.edit", options);
    await this.#core.ready();
    await editQueued(this.#core.host.storage, this.#address(id), content);
  }

  async remove(options: { id: string }): Promise<void> {
    const { id } = checkOptions("followUps.remove", options);
    await this.#core.ready();
    await removeQueued(this.#core.host.storage, this.#address(id));
    await this.#core.thread.countQueued();
  }

  /** Moves a message within the queue. 0 is the next one. */
  async move(options: { id: string; to: number }): Promise<void> {
    const { id, to } = checkOptions("followUps.move", options);
    if (!Number.isSafeInteger(to) || to < 0)
      throw new AgentError(
        "invalid-argument",
        `to must be a position in the queue, 0 or more, got ${showValue(to)}.`,
      );
    await this.#core.ready();
    await moveQueued(this.#core.host.storage, this.#address(id), to);
  }

  /** Moves a queued message into the active run, before its next step. */
  steer(id: string): Promise<void> {
    return quietly(this.#core, async () => {
      await this.#core.ready();
      const { storage, agent } = this.#core.host;
      const address = this.#address(id);
      await hurryQueued(storage, address);
      await agent.mailMayHaveCome({ threadId: address.threadId, resourceId: this.#core.row.resourceId });
      await this.#core.thread.countQueued();
    });
  }

  #address(messageId: string): { threadId: string; messageId: string } {
    return { threadId: this.#core.threadId ?? "", messageId };
  }
}
