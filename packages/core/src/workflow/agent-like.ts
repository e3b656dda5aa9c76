import type { Storage } from "../storage/storage.ts";
import type { AgentThreadSubscription } from "../thread/threads.ts";

interface AgentOutput {
  readonly fullStream: AsyncIterable<unknown>;
  getFullOutput(): Promise<any>;
}

/** An agent, as far as a step made from one needs it. */
export interface AgentLike {
  readonly id: string;
  readonly name: string;
  readonly description?: string | undefined;
  stream(messages: any, options?: any): Promise<AgentOutput>;
  approveToolCall(options: any): Promise<AgentOutput>;
  declineToolCall(options: any): Promise<AgentOutput>;
  getMemory(options?: any): any;
  getThreadStorage(): Promise<Storage>;
  subscribeToThread(options: {
    threadId: string;
    resourceId?: string;
    after: number;
  }): Promise<AgentThreadSubscription>;
}

export function isAgentLike(value: unknown): value is AgentLike {
  const agent = value as Partial<AgentLike> | undefined;
  return typeof agent?.stream === "function" && typeof agent.approveToolCall === "function";
}
