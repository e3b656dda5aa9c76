import type { Agent } from "@selvedge/core/agent";
import type { Memory } from "@selvedge/memory";
import type { AgentChunk } from "@selvedge/protocol";
import type { ChatPeer, WaitingCall } from "./chat-peer.ts";

/** An agent of this process, with its memory. */
export class LocalPeer implements ChatPeer {
  readonly #agent: Agent;
  readonly #memory: Memory;
  readonly #resourceId: string;
  #threadId = "";

  constructor(agent: Agent, memory: Memory, resourceId: string) {
    this.#agent = agent;
    this.#memory = memory;
    this.#resourceId = resourceId;
  }

  async open(threadId: string | undefined): Promise<number> {
    const resourceId = this.#resourceId;
    const last = await this.#memory.listThreads({
      filter: { resourceId },
      orderBy: { field: "updatedAt", direction: "DESC" },
      perPage: 1,
    });
    this.#threadId = threadId ?? last.threads[0]?.id ?? crypto.randomUUID();
    return (await this.#memory.recall({ threadId: this.#threadId, resourceId, perPage: 1 })).total;
  }

  startNew(): void {
    this.#threadId = crypto.randomUUID();
  }

  async send(text: string, abortSignal: AbortSignal): Promise<AsyncIterable<AgentChunk>> {
    const memory = { thread: this.#threadId, resource: this.#resourceId };
    return (await this.#agent.stream(text, { memory, abortSignal })).fullStream;
  }

  async decide(
    { runId, toolCallId }: WaitingCall,
    approved: boolean,
    abortSignal: AbortSignal,
  ): Promise<AsyncIterable<AgentChunk>> {
    const options = { runId, toolCallId, abortSignal };
    const run = approved
      ? await this.#agent.approveToolCall(options)
      : await this.#agent.declineToolCall(options);
    return run.fullStream;
  }
}
