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
  /** Messages per page. Default: 40. */
  perPage?: number;
  /** A new thread: the server is not asked about it before the first message. */
  isNew?: boolean;
  /** Tools that run here when the agent calls them. */
  clientTools?: LocalTools;
  /** How to reconnect after a broken connection. */
  reconnect?: ReconnectOptions;
  /** Shown until the thread's own messages are loaded. */
  initialMessages?: readonly ThreadMessage[];
  /** Called for each chunk, including those of a run in progress. */
  onChunk?: (chunk: NumberedChunk) => void;
}

/** One thread on one server, with one agent. */
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
