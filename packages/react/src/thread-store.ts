import type { MastraClient } from "@selvedge/client-js";
import type { SendResult, SignalContents } from "@selvedge/protocol/routes";
import { ExternalStore } from "./external-store.ts";
import { ThreadDoor, type ThreadStoreOptions } from "./thread-door.ts";
import { ThreadFollower } from "./thread-follower.ts";
import { ThreadLoader } from "./thread-loader.ts";
import type { ThreadMessage } from "./thread-message.ts";
import { ThreadModel, type ThreadSnapshot } from "./thread-model.ts";
import { type SendOptions, ThreadSender } from "./thread-sender.ts";

/**
 * A live thread for any UI framework. It loads what is stored, follows the stream, and shows sent messages before the
 * server confirms them. `useThread` wraps it for React.
 */
export class ThreadStore extends ExternalStore<ThreadSnapshot> {
  readonly #model: ThreadModel;
  readonly #loader: ThreadLoader;
  readonly #follower: ThreadFollower;
  readonly #sender: ThreadSender;

  constructor(client: MastraClient, options: ThreadStoreOptions) {
    const model = new ThreadModel(options.initialMessages, options.isNew);
    super(model.toSnapshot());
    const door = new ThreadDoor(client, options);
    const now = (): void => this.publish();
    this.#model = model;
    this.#loader = new ThreadLoader(door, model, now);
    this.#follower = new ThreadFollower(door, model, this.#loader, { now, soon: () => this.publishSoon() });
    this.#sender = new ThreadSender(door, model, this.#loader, now);
  }

  /** Sends into the active run, or opens one. Shown at once; resolves when the server has accepted it. */
  sendMessage(contents: SignalContents, options: SendOptions = {}): Promise<SendResult> {
    return this.#sender.send("sendMessage", contents, options);
  }

  /** Sends a message for a separate run after the active one. */
  queueMessage(contents: SignalContents, options: SendOptions = {}): Promise<SendResult> {
    return this.#sender.send("queueMessage", contents, options);
  }

  /** Changes a queued message. Rejects with `not-found` once a run has taken it. */
  editQueued(id: string, contents: SignalContents): Promise<void> {
    return this.#sender.editQueued(id, contents);
  }

  /** Removes a queued message. */
  removeQueued(id: string): Promise<void> {
    return this.#sender.removeQueued(id);
  }

  /** Aborts the active run. Returns whether there was one. */
  abort(): Promise<boolean> {
    return this.#sender.abort();
  }

  approve(toolCallId: string, resumeData?: unknown): Promise<void> {
    return this.#sender.decide(toolCallId, {
      approved: true,
      ...(resumeData !== undefined && { resumeData }),
    });
  }

  decline(toolCallId: string, reason?: string): Promise<void> {
    return this.#sender.decide(toolCallId, {
      approved: false,
      ...(reason !== undefined && { declineContext: { reason } }),
    });
  }

  /** Loads the messages before the first. */
  loadEarlier(): Promise<void> {
    return this.#loader.earlier();
  }

  /** Reloads messages, queue and lanes. A thread that could not be followed is retried. */
  async refresh(): Promise<void> {
    this.#model.exists = true;
    if (this.#model.status === "error") {
      this.#model.status = "loading";
      this.publish();
      this.start();
      return;
    }
    await this.#loader.refresh();
  }

  /** Replaces the messages shown; the stream continues from there. */
  setMessages(messages: readonly ThreadMessage[]): void {
    this.#model.transcript.set(messages);
    this.publish();
  }

  protected start(): void {
    void this.#follower.follow();
  }

  protected stop(): void {
    this.#follower.stop();
  }

  protected build(): ThreadSnapshot {
    return this.#model.toSnapshot();
  }
}
