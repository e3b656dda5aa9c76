import { AgentError, newId, type SendMessageOptions } from "@selvedge/client-js";
import type {
  Attributes,
  QueuedMessage,
  RunOptions,
  SendResult,
  SignalContents,
} from "@selvedge/protocol/routes";
import { isMissingRoute } from "./is-missing-route.ts";
import type { ThreadDoor } from "./thread-door.ts";
import type { ThreadLoader } from "./thread-loader.ts";
import { toParts } from "./thread-message.ts";
import type { ThreadModel } from "./thread-model.ts";

export interface SendOptions {
  attributes?: Attributes;
  metadata?: Record<string, unknown>;
  ifIdle?: { streamOptions?: Omit<RunOptions, "clientTools"> };
}

export interface Decision {
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason: string };
}

/** A person's actions on a thread: shown at once, and reverted if the server refuses. */
export class ThreadSender {
  readonly #door: ThreadDoor;
  readonly #model: ThreadModel;
  readonly #loader: ThreadLoader;
  readonly #publish: () => void;
  /** Whether the server is older than the message routes. */
  #sendsSignals = false;

  constructor(door: ThreadDoor, model: ThreadModel, loader: ThreadLoader, publish: () => void) {
    this.#door = door;
    this.#model = model;
    this.#loader = loader;
    this.#publish = publish;
  }

  async send(
    kind: "sendMessage" | "queueMessage",
    contents: SignalContents,
    { attributes, metadata, ifIdle }: SendOptions,
  ): Promise<SendResult> {
    const model = this.#model;
    const { agentId, clientTools } = this.#door.options;
    const id = newId();
    const createdAt = new Date().toISOString();
    const more = { ...(attributes && { attributes }), ...(metadata && { metadata }) };
    const isQueued = kind === "queueMessage";
    if (isQueued) {
      const signal = { id, type: "user", tagName: "user", contents, createdAt, ...more } as const;
      const message: QueuedMessage = { id, agentId, due: "next", runId: "", signal };
      model.queue = [...model.queue, message];
    } else {
      const parts = toParts(contents);
      model.transcript.show({ id, role: "user", type: "user", createdAt, parts, ...more, state: "sending" });
    }
    this.#publish();
    try {
      const streamOptions = { ...ifIdle?.streamOptions, ...(clientTools && { clientTools }) };
      const target = {
        ...this.#door.address,
        ...(Object.keys(streamOptions).length > 0 && { ifIdle: { streamOptions } }),
      };
      const message = { contents, id, ...more };
      const result = isQueued
        ? await this.#door.agent.queueMessage({ message, ...target })
        : await this.#sendNow(message, target);
      this.#accepted(id, result, isQueued);
      return result;
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      model.dropQueued(id);
      model.transcript.change(id, { state: "failed", error: reason });
      throw error;
    } finally {
      this.#publish();
    }
  }

  async editQueued(id: string, contents: SignalContents): Promise<void> {
    const { resourceId } = this.#door.options;
    await this.#onQueue(id, async () => {
      const changed = await this.#door.thread.editQueued(id, {
        contents,
        ...(resourceId !== undefined && { resourceId }),
      });
      this.#model.queue = this.#model.queue.map((message) => (message.id === id ? changed : message));
    });
  }

  async removeQueued(id: string): Promise<void> {
    await this.#onQueue(id, async () => {
      await this.#door.thread.removeQueued(id);
      this.#model.dropQueued(id);
    });
  }

  async abort(): Promise<boolean> {
    const { aborted } = await this.#door.agent.abortThread(this.#door.address);
    return aborted;
  }

  async decide(toolCallId: string, decision: Decision): Promise<void> {
    try {
      await this.#door.agent.sendToolApproval({ ...this.#door.address, toolCallId, ...decision });
      this.#model.dropApproval(toolCallId);
    } catch (error) {
      // Someone else decided first.
      if (AgentError.is(error, "already-decided")) this.#model.dropApproval(toolCallId);
      throw error;
    } finally {
      this.#publish();
    }
  }

  /** Uses the message route, or on a server without one the equivalent signal. */
  async #sendNow(
    message: { id: string; contents: SignalContents; attributes?: Attributes },
    target: Omit<SendMessageOptions, "message">,
  ): Promise<SendResult> {
    const { agent } = this.#door;
    const signal = { type: "user", tagName: "user", ...message } as const;
    if (this.#sendsSignals) return agent.sendSignal({ signal, ...target });
    try {
      return await agent.sendMessage({ message, ...target });
    } catch (error) {
      if (!isMissingRoute(error)) throw error;
      const result = await agent.sendSignal({ signal, ...target });
      this.#sendsSignals = true;
      return result;
    }
  }

  #accepted(id: string, { action, runId }: SendResult, isQueued: boolean): void {
    const model = this.#model;
    model.exists = true;
    if (action === "discard") {
      model.dropQueued(id);
      model.transcript.withdraw(id);
    } else if (isQueued)
      model.queue = model.queue.map((message) => (message.id === id ? { ...message, runId } : message));
    else model.transcript.change(id, { state: "waiting", runId });
    if (action === "persist" || (action === "queue" && !isQueued)) this.#loader.refreshInBackground();
  }

  async #onQueue(id: string, change: () => Promise<void>): Promise<void> {
    try {
      await change();
    } catch (error) {
      if (AgentError.is(error, "not-found")) this.#model.dropQueued(id);
      throw error;
    } finally {
      this.#publish();
    }
  }
}
