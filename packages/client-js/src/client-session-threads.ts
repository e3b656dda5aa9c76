import type { AgentControllerMessage, AgentControllerThread } from "@selvedge/protocol/session";
import type { CallResult } from "./call.ts";
import type { SessionLine } from "./session-line.ts";

/** The threads of a session on a server. */
export class ClientSessionThreads {
  readonly #line: SessionLine;

  constructor(line: SessionLine) {
    this.#line = line;
  }

  getId(): string | null {
    return this.#line.info.threadId ?? null;
  }

  isSet(): boolean {
    return this.#line.info.threadId !== undefined;
  }

  requireId(): string {
    return this.#line.requireThread();
  }

  async list(query: { includeForkedSubagents?: boolean } = {}): Promise<AgentControllerThread[]> {
    return (await this.#line.call("listSessionThreads", { query })).threads.map(toThread);
  }

  async create(body: { title?: string } = {}): Promise<AgentControllerThread> {
    return this.#arrived(await this.#line.call("createSessionThread", { body }));
  }

  async clone(body: { sourceThreadId?: string; title?: string } = {}): Promise<AgentControllerThread> {
    return this.#arrived(await this.#line.call("cloneSessionThread", { body }));
  }

  switch(body: { threadId: string; abort?: boolean }): Promise<void> {
    return this.#line.change("switchSessionThread", body);
  }

  async rename({ title, threadId }: { title: string; threadId?: string }): Promise<void> {
    await this.#line.open();
    const params = { threadId: threadId ?? this.requireId() };
    await this.#line.reached(await this.#line.call("renameSessionThread", { params, body: { title } }));
  }

  async delete({ threadId }: { threadId: string }): Promise<void> {
    await this.#line.reached(await this.#line.call("deleteSessionThread", { params: { threadId } }));
  }

  async listMessages(options: { threadId: string; limit?: number }): Promise<AgentControllerMessage[]> {
    const { threadId, limit } = options;
    const query = limit === undefined ? {} : { limit };
    const { messages } = await this.#line.call("listSessionMessages", { params: { threadId }, query });
    return messages.map(toMessage);
  }

  /** The messages of the subagent of a call on the current thread. */
  async listSubagentMessages(options: {
    toolCallId: string;
    limit?: number;
  }): Promise<AgentControllerMessage[]> {
    const { toolCallId, limit } = options;
    const query = limit === undefined ? {} : { limit };
    const { messages } = await this.#line.call("listSubagentMessages", { params: { toolCallId }, query });
    return messages.map(toMessage);
  }

  async listActiveMessages(options: { limit?: number } = {}): Promise<AgentControllerMessage[]> {
    await this.#line.open();
    const threadId = this.getId();
    return threadId === null ? [] : this.listMessages({ threadId, ...options });
  }

  async #arrived(answer: CallResult<"createSessionThread">): Promise<AgentControllerThread> {
    await this.#line.reached(answer.session);
    return toThread(answer.thread);
  }
}

function toMessage(message: CallResult<"listSessionMessages">["messages"][number]): AgentControllerMessage {
  return { ...message, createdAt: new Date(message.createdAt) };
}

function toThread(thread: CallResult<"createSessionThread">["thread"]): AgentControllerThread {
  return { ...thread, createdAt: new Date(thread.createdAt), updatedAt: new Date(thread.updatedAt) };
}
