import type {
  ClientAgent,
  LocalTools,
  MastraClient,
  MemoryThread,
  ReconnectOptions,
} from "@selvedge/client-js";
import type { NumberedChunk } from "@selvedge/protocol/routes";
import type { ThreadMessage } from "./thread-message.ts";

export interface ThreadStoreOptions {
  agentId: string;
  threadId: string;
  resourceId?: string;
  /** Messages of a page; 40 by default. */
  perPage?: number;
  /** Nobody has written to it yet: nothing is asked of the server about it before somebody does. */
  isNew?: boolean;
  /** Tools that run here when the agent calls them. */
  clientTools?: LocalTools;
  /** How to come back after a broken line. */
  reconnect?: ReconnectOptions;
  /** Shown until the thread's own messages are there. */
  initialMessages?: readonly ThreadMessage[];
  /** Called for each chunk, also of a run that was under way. */
  onChunk?: (chunk: NumberedChunk) => void;
}

/** One thread at one server, with one agent. */
export class ThreadDoor {
  readonly options: ThreadStoreOptions;
  readonly #client: MastraClient;

  constructor(client: MastraClient, options: ThreadStoreOptions) {
    this.#client = client;
    this.options = options;
  }

  get address(): { threadId: string; resourceId?: string } {
    const { threadId, resourceId } = this.options;
    return { threadId, ...(resourceId !== undefined && { resourceId }) };
  }

  get agent(): ClientAgent {
    return this.#client.getAgent(this.options.agentId);
  }

  get thread(): MemoryThread {
    return this.#client.getMemoryThread({ agentId: this.options.agentId, ...this.address });
  }
}
