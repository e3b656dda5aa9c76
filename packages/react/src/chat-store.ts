import {
  AgentError,
  type ClientAgent,
  errorFromWire,
  type GenerateOptions,
  type LocalTools,
  type MastraClient,
  newId,
  type RunStream,
  type WireChunk,
} from "@selvedge/client-js";
import type { SignalContents } from "@selvedge/protocol/routes";
import { ExternalStore } from "./external-store.ts";
import { type ThreadMessage, toParts } from "./thread-message.ts";
import { type Approval, approvalsAfter } from "./approval.ts";
import { Transcript } from "./transcript.ts";

export interface ChatStoreOptions {
  agentId: string;
  /** The thread that stores the chat. Without one, the conversation is sent with every message. */
  threadId?: string;
  resourceId?: string;
  initialMessages?: readonly ThreadMessage[];
  requestContext?: Record<string, unknown>;
  clientTools?: LocalTools;
}

export interface ChatSnapshot {
  readonly messages: readonly ThreadMessage[];
  readonly isRunning: boolean;
  readonly runError?: Error;
  readonly approvals: readonly Approval[];
}

export interface ChatSendOptions extends Omit<
  GenerateOptions,
  "memory" | "threadId" | "resourceId" | "clientTools"
> {
  onChunk?: (chunk: WireChunk) => void;
}

/** A chat of single calls: each message is one `stream()`. Activity of others on the thread is not shown. */
export class ChatStore extends ExternalStore<ChatSnapshot> {
  readonly #client: MastraClient;
  readonly #options: ChatStoreOptions;
  readonly #transcript: Transcript;
  #stream: RunStream | undefined;
  #run: { runId: string } | undefined;
  #isRunning = false;
  #runError: Error | undefined;
  #approvals: readonly Approval[] = [];

  constructor(client: MastraClient, options: ChatStoreOptions) {
    const messages = options.initialMessages ?? [];
    super({ messages, isRunning: false, approvals: [] });
    this.#client = client;
    this.#options = options;
    this.#transcript = new Transcript(messages);
  }

  setMessages(messages: readonly ThreadMessage[]): void {
    this.#transcript.set(messages);
    this.publish();
  }

  /** Sends a message and reads the answer to its end. A failed run is shown, not thrown. */
  async sendMessage(contents: SignalContents, { onChunk, ...options }: ChatSendOptions = {}): Promise<void> {
    if (this.#isRunning)
      throw new AgentError(
        "thread-busy",
        "An answer is still in progress. Wait for it, or cancel it with cancelRun().",
      );
    const { threadId, resourceId, requestContext, clientTools } = this.#options;
    const id = newId();
    const message: ThreadMessage = {
      id,
      role: "user",
      createdAt: new Date().toISOString(),
      parts: toParts(contents),
      state: "sending",
    };
    const said = threadId === undefined ? this.#transcript.view.map(toMessage) : [];
    this.#transcript.show(message);
    const memory =
      threadId === undefined
        ? undefined
        : { thread: threadId, ...(resourceId !== undefined && { resource: resourceId }) };
    await this.#read(
      (agent) =>
        agent.stream([...said, toMessage(message)], {
          ...options,
          ...(memory && { memory }),
          ...(requestContext && { requestContext }),
          ...(clientTools && { clientTools }),
        }),
      onChunk,
      (error) => {
        if (error) this.#transcript.change(id, { state: "failed", error });
        else this.#transcript.confirm({ ...message, state: "done" });
      },
    );
  }

  async approve(toolCallId: string, resumeData?: unknown): Promise<void> {
    const runId = this.#waitingRun(toolCallId);
    const data = resumeData === undefined ? {} : { resumeData };
    await this.#read((agent) => agent.approveToolCall({ runId, toolCallId, ...data }));
  }

  async decline(toolCallId: string, reason?: string): Promise<void> {
    const runId = this.#waitingRun(toolCallId);
    const why = reason === undefined ? {} : { reason };
    await this.#read((agent) => agent.declineToolCall({ runId, toolCallId, ...why }));
  }

  /** Stops the current answer. */
  async abort(): Promise<boolean> {
    const { threadId, resourceId } = this.#options;
    const wasRunning = this.#isRunning;
    if (threadId === undefined) this.#stream?.cancel();
    else if (wasRunning || this.#approvals.length > 0)
      await this.#agent().abortThread({ threadId, ...(resourceId !== undefined && { resourceId }) });
    return wasRunning;
  }

  protected start(): void {}

  protected stop(): void {
    this.#stream?.cancel();
  }

  protected build(): ChatSnapshot {
    return {
      messages: this.#transcript.view,
      isRunning: this.#isRunning,
      ...(this.#runError && { runError: this.#runError }),
      approvals: this.#approvals,
    };
  }

  async #read(
    open: (agent: ClientAgent) => Promise<RunStream>,
    onChunk?: (chunk: WireChunk) => void,
    accepted?: (error?: Error) => void,
  ): Promise<void> {
    this.#isRunning = true;
    this.#runError = undefined;
    this.publish();
    let isOpen = false;
    try {
      const stream = await open(this.#agent());
      this.#stream = stream;
      isOpen = true;
      accepted?.();
      await stream.processDataStream({
        onChunk: (chunk) => {
          this.#take(chunk);
          onChunk?.(chunk);
        },
      });
    } catch (error) {
      const reason = error instanceof Error ? error : new Error(String(error));
      if (!isOpen) accepted?.(reason);
      this.#runError = reason;
      throw error;
    } finally {
      this.#transcript.rest();
      this.#stream = undefined;
      this.#isRunning = false;
      this.publish();
    }
  }

  #take(chunk: WireChunk): void {
    this.#transcript.take(chunk, false);
    this.#run = { runId: chunk.runId };
    this.#approvals = approvalsAfter(this.#approvals, chunk);
    if (chunk.type === "tripwire") this.#runError = new AgentError("tripwire", chunk.payload.reason);
    if (chunk.type === "error") this.#runError = errorFromWire(chunk.payload.error);
    this.publishSoon();
  }

  #waitingRun(toolCallId: string): string {
    if (this.#run && this.#approvals.some((approval) => approval.toolCallId === toolCallId))
      return this.#run.runId;
    throw new AgentError("not-found", `Tool call "${toolCallId}" is not waiting for an answer.`);
  }

  #agent(): ClientAgent {
    return this.#client.getAgent(this.#options.agentId);
  }
}

/** A message in the form an agent accepts. */
function toMessage({ id, role, createdAt, parts }: ThreadMessage): Record<string, unknown> {
  return { id, role: role === "signal" ? "user" : role, createdAt, content: { format: 2, parts } };
}
