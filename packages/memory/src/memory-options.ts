import type { OptionNames } from "@selvedge/core/guards";
import type { MemoryConfig, System } from "@selvedge/core/memory";
import type { ModelMessage } from "@selvedge/core/message";
import type { Processor } from "@selvedge/core/processors";
import type { ListMessagesOptions, PageOptions, Storage } from "@selvedge/core/storage";
import type { Embedder, EmbeddingModel, Vector } from "@selvedge/core/vector";
import type { StoredMessage } from "@selvedge/protocol";
import type { ObservationalMemoryOptions } from "./observational/om-options.ts";
import type { UIMessage } from "@selvedge/core/message";
import type { MemoryWarning } from "./warning.ts";

export interface MemoryOptions {
  /** Where threads and messages are stored. Default: the store of the `Mastra` host. */
  storage?: Storage | undefined;
  /** Needed for semantic recall, together with an embedder. */
  vector?: Vector | false | undefined;
  embedder?: Embedder | EmbeddingModel | undefined;
  /** Defaults for every call; `memory.options` of a call overrides them by key. */
  options?: MemoryDefaults | undefined;
  /** More input processors. They run after the memory's own and see what was recalled. */
  processors?: readonly Processor[] | undefined;
  /** Called when background work (indexing, titles) fails. Default: `console.warn`. */
  onWarning?: ((warning: MemoryWarning) => void) | undefined;
  system?: System | undefined;
}

/** The options of `new Memory()`. */
export const MEMORY_OPTIONS: OptionNames<Required<MemoryOptions>> = {
  storage: true,
  vector: true,
  embedder: true,
  options: true,
  processors: true,
  onWarning: true,
  system: true,
};

/** Options of a memory. A call accepts the same, but can only switch observational memory off. */
export interface MemoryDefaults extends MemoryConfig {
  observationalMemory?: boolean | ObservationalMemoryOptions;
}

/** Identifies a thread; with `resourceId`, a thread of another owner counts as absent. */
export interface ThreadAddress {
  threadId: string;
  resourceId?: string | undefined;
}

export interface CreateThreadOptions {
  resourceId: string;
  threadId?: string | undefined;
  title?: string | undefined;
  metadata?: Record<string, unknown> | undefined;
}

export interface RecallOptions extends ThreadAddress, PageOptions {
  /** Without an order: pages from the newest backwards, each oldest first. */
  orderBy?: ListMessagesOptions["orderBy"];
  include?: ListMessagesOptions["include"];
  filter?: ListMessagesOptions["filter"];
  /** Also include messages near in meaning to this text. */
  vectorSearchString?: string | undefined;
  threadConfig?: MemoryConfig | undefined;
  /** Show the raw tool payloads, instead of those prepared by transforms for the transcript. */
  raw?: boolean | undefined;
}

export interface QueryOptions extends ThreadAddress {
  selectBy?:
    | {
        last?: number | false | undefined;
        vectorSearchString?: string | undefined;
        include?: ListMessagesOptions["include"];
      }
    | undefined;
  threadConfig?: MemoryConfig | undefined;
  raw?: boolean | undefined;
}

/** The same messages in three forms: for a model, for a UI, and as stored. */
export interface QueryResult {
  messages: ModelMessage[];
  uiMessages: UIMessage[];
  messagesV2: StoredMessage[];
}

export interface WorkingMemoryAddress {
  threadId: string;
  resourceId?: string | undefined;
  memoryConfig?: MemoryConfig | undefined;
}
