import { defaultLogger, warnUnknownOptions } from "@selvedge/core/guards";
import { AgentError } from "@selvedge/core/errors";
import {
  type MastraMemory,
  type MemoryAgent,
  type MemoryConfig,
  type MemoryParts,
  type MemoryRun,
  realSystem,
  type System,
} from "@selvedge/core/memory";
import { type MessageLike, MessageList, toUIMessage } from "@selvedge/core/message";
import type { Processor } from "@selvedge/core/processors";
import {
  type CloneThreadOptions,
  type CloneThreadResult,
  type ListMessagesResult,
  type ListThreadsOptions,
  type ListThreadsResult,
  type ThreadDomain,
  noThread,
  type ObservationalMemoryRecord,
  type Storage,
} from "@selvedge/core/storage";
import type { JsonSchema, Tool } from "@selvedge/core/tools";
import { type Embedder, toEmbedder } from "@selvedge/core/vector";
import type { StoredMessage, StoredThread } from "@selvedge/protocol";
import { cloneHistory, cloneMetadata, listClones, type ThreadCloneMetadata } from "./clone-lineage.ts";
import { findMessages } from "./find-messages.ts";
import type {
  CreateThreadOptions,
  MemoryOptions,
  QueryOptions,
  QueryResult,
  RecallOptions,
  ThreadAddress,
  WorkingMemoryAddress,
} from "./memory-options.ts";
import { MEMORY_OPTIONS } from "./memory-options.ts";
import {
  type MemorySettings,
  toMemoryConfig,
  toMemorySettings,
  type WorkingMemorySettings,
} from "./memory-settings.ts";
import { MessageIndex } from "./message-index.ts";
import { resolveOmConfig } from "./observational/om-config.ts";
import { NoteIndex } from "./observational/note-index.ts";
import { OmEngine } from "./observational/om-engine.ts";
import { checkOverrides } from "./observational/om-limits.ts";
import { type MemoryContext, ObservationalMemory } from "./observational/observational-memory.ts";
import {
  type ConversationSummary,
  summarizeConversation,
  type SummarizeOptions,
} from "./observational/summarize-conversation.ts";
import { prepareRun } from "./prepare-run.ts";
import { transcriptView } from "./transcript-view.ts";
import { toWarn, type Warn } from "./warning.ts";
import { WorkingMemoryStore } from "./working-memory-store.ts";
import {
  parseMemory,
  WORKING_MEMORY_TOOL,
  workingMemoryInput,
  workingMemoryTool,
} from "./working-memory-tool.ts";
import { workingMemoryPrompt } from "./working-memory.ts";

/**
 * What an agent remembers: the history of a thread, messages found by meaning, and a working memory. It decides what a
 * run sees (`prepareRun`) and gives apps access to threads. Storing a run's messages is up to the run.
 */
export class Memory implements MastraMemory {
  readonly #options: MemoryConfig;
  readonly #processors: readonly Processor[];
  readonly #index: MessageIndex | undefined;
  /** The embedder for searching messages by meaning. */
  readonly embedder?: Embedder;
  readonly #has: { vector: boolean; embedder: boolean };
  readonly #workingMemory: WorkingMemoryStore;
  readonly #toolInputs = new WeakMap<object, JsonSchema>();
  readonly #beingNamed = new Set<string>();
  readonly #system: System;
  readonly #warn: Warn;
  readonly #om: OmEngine | undefined;
  readonly #notes: NoteIndex | undefined;
  #storage: Storage | undefined;

  constructor(options: MemoryOptions = {}) {
    warnUnknownOptions("new Memory()", options, MEMORY_OPTIONS, defaultLogger);
    this.#options = options.options ?? {};
    this.#storage = options.storage;
    this.#processors = options.processors ?? [];
    this.#system = options.system ?? realSystem;
    this.#warn = toWarn(options.onWarning);
    this.#workingMemory = new WorkingMemoryStore({ store: () => this.#store(), system: this.#system });
    const { vector, embedder } = options;
    this.#has = { vector: !!vector, embedder: !!embedder };
    const config = resolveOmConfig(options.options?.observationalMemory, this.#has);
    this.#om =
      config &&
      new OmEngine({
        index: () => this.#notes,
        config,
        system: this.#system,
        warn: this.#warn,
        memory: this,
        storage: () => this.#requireStorage(),
      });
    const settings = this.#settings(undefined);
    if (vector && embedder) {
      const { indexName, indexConfig, embedderOptions } = settings.recall ?? {};
      this.embedder = toEmbedder(embedder, embedderOptions);
      const index = { vector, embedder: this.embedder, indexConfig };
      this.#index = new MessageIndex({ ...index, indexName });
      if (config?.retrieval?.vector)
        this.#notes = new NoteIndex({
          index,
          storage: () => this.#requireStorage(),
          system: this.#system,
          warn: this.#warn,
        });
    }
    // A schema that cannot be shown to a model is reported here, not in the first run.
    if (settings.workingMemory) this.#toolInput(settings.workingMemory);
  }

  get storage(): Storage | undefined {
    return this.#storage;
  }

  useStorage(storage: Storage): void {
    this.#storage ??= storage;
  }

  historyLimit(config: MemoryConfig | undefined): number {
    const { lastMessages, observes } = this.#settings(config);
    return observes && this.#om ? 0 : lastMessages;
  }

  async prepareRun(run: MemoryRun): Promise<MemoryParts> {
    const settings = this.#settings(run.config);
    const store = await this.#store();
    const { workingMemory } = settings;
    const { lastMessages, readOnly } = settings;
    const om = settings.observes ? await this.#om?.prepareRun(run, { lastMessages, readOnly }) : undefined;
    return prepareRun(run, settings, {
      om,
      retrieval: om && this.#om?.config.retrieval,
      readNotes: this.#om?.notes.bind(this.#om),
      notes: this.#notes,
      store,
      index: this.#index,
      workingMemory: this.#workingMemory,
      toolInput: workingMemory && this.#toolInput(workingMemory),
      processors: this.#processors,
      beingNamed: this.#beingNamed,
      warn: this.#warn,
    });
  }

  /**
   * The working memory tool, to give to agents that do not have this memory. It changes the working memory of the thread
   * on which it is called. Empty where the model may not change it. Agents with this memory have the tool already.
   */
  listTools(config?: MemoryConfig): Record<string, Tool> {
    const { workingMemory: settings, readOnly } = this.#settings(config);
    if (!settings?.agentManaged || readOnly) return {};
    const inputSchema = this.#toolInput(settings);
    return {
      [WORKING_MEMORY_TOOL]: workingMemoryTool({ store: this.#workingMemory, settings, inputSchema }),
    };
  }

  get omThresholds(): MastraMemory["omThresholds"] {
    if (!this.#om) return undefined;
    const { observation, reflection } = this.#om.config;
    return {
      messageTokens: observation.hasThreshold ? observation.messageTokens : undefined,
      observationTokens: reflection.hasThreshold ? reflection.observationTokens : undefined,
    };
  }

  serve(agent: MemoryAgent): void {
    this.#om?.serve(agent);
  }

  /** Summarises a thread, and extracts values from it. Writes nothing. */
  async summarizeThread(options: ThreadAddress & SummarizeOptions): Promise<ConversationSummary> {
    const { threadId, resourceId, ...rest } = options;
    await this.#requireThread({ threadId, resourceId });
    const store = await this.#store();
    const limit = rest.lastMessages;
    const messages =
      limit === undefined
        ? (await store.listMessages({ threadId, perPage: false })).messages
        : await store.recentMessages({ threadId, limit });
    return summarizeConversation({ system: this.#system, ...rest, messages });
  }

  /** Manual access to observational memory; `undefined` when it is off. */
  get observationalMemory(): ObservationalMemory | undefined {
    const engine = this.#om;
    if (!engine) return undefined;
    return new ObservationalMemory({ engine, storage: () => this.#requireStorage(), system: this.#system });
  }

  /** What a run on this thread would see now: the log, and the messages after it. */
  async getContext(address: WorkingMemoryAddress): Promise<MemoryContext> {
    const { threadId, memoryConfig } = address;
    const settings = this.#settings(memoryConfig);
    const thread = await this.getThreadById(address);
    const om = settings.observes ? this.observationalMemory : undefined;
    if (!om || !thread) {
      const limit = settings.lastMessages;
      const messages =
        thread && limit > 0 ? await (await this.#store()).recentMessages({ threadId, limit }) : [];
      const none = { systemMessage: null, hasObservations: false, omRecord: null };
      return { ...none, messages, continuationMessage: null, otherThreadsContext: null };
    }
    return om.getContext(threadId, thread.resourceId);
  }

  /** Thresholds for one thread's log, merged with its current ones. */
  async updateObservationalMemoryConfig(options: {
    threadId: string;
    resourceId?: string | undefined;
    config: {
      observation?: { messageTokens?: number };
      reflection?: { observationTokens?: number };
    };
  }): Promise<ObservationalMemoryRecord> {
    const { threadId, resourceId, config } = options;
    if (!this.#om)
      throw new AgentError(
        "invalid-argument",
        "Observational memory is off. Turn it on: new Memory({ options: { observationalMemory: true } }).",
      );
    checkOverrides(config);
    const thread = await this.#requireThread({ threadId, resourceId });
    const domain = await this.#om.domain();
    const address = this.#om.address(threadId, thread.resourceId);
    return domain.updateObservationalMemoryConfig(address, config as Record<string, unknown>);
  }

  /** Waits for the background work of this memory. Never rejects. */
  async settled(): Promise<void> {
    await this.#om?.settled();
  }

  // Threads

  /** Creates a thread. If this resource already has one with the id, it is updated instead. */
  createThread({ resourceId, threadId, title, metadata }: CreateThreadOptions): Promise<StoredThread> {
    const now = new Date(this.#system.now());
    const thread = {
      id: threadId ?? this.#system.newId({ idType: "thread", source: "memory", resourceId }),
      resourceId,
      createdAt: now,
      updatedAt: now,
    };
    return this.saveThread({
      thread: {
        ...thread,
        ...(title !== undefined && { title }),
        ...(metadata !== undefined && { metadata }),
      },
    });
  }

  /** Stores a thread. If it exists, title and metadata are changed, the metadata by key. */
  async saveThread({ thread }: { thread: StoredThread }): Promise<StoredThread> {
    const store = await this.#store();
    const existing = await store.getThreadById({ threadId: thread.id });
    if (existing?.resourceId !== thread.resourceId) return store.saveThread({ thread });
    return store.updateThread({ id: thread.id, title: thread.title, metadata: thread.metadata });
  }

  async getThreadById({ threadId, resourceId }: ThreadAddress): Promise<StoredThread | null> {
    const thread = await (await this.#store()).getThreadById({ threadId });
    return thread && (resourceId === undefined || thread.resourceId === resourceId) ? thread : null;
  }

  /** Changes the title, and the metadata by key; `null` deletes a key. */
  async updateThread(patch: {
    id: string;
    title?: string | undefined;
    metadata?: Record<string, unknown> | undefined;
    resourceId?: string | undefined;
  }): Promise<StoredThread> {
    const { resourceId, ...change } = patch;
    await this.#requireThread({ threadId: patch.id, resourceId });
    return (await this.#store()).updateThread(change);
  }

  async listThreads(options: ListThreadsOptions = {}): Promise<ListThreadsResult> {
    return (await this.#store()).listThreads(options);
  }

  /** All threads of a resource, newest first. `listThreads` has pages. */
  async getThreadsByResourceId({ resourceId }: { resourceId: string }): Promise<StoredThread[]> {
    return (await this.listThreads({ filter: { resourceId }, perPage: false })).threads;
  }

  /** Deletes a thread with its messages and index entries. */
  async deleteThread(target: string | ThreadAddress): Promise<void> {
    const address = typeof target === "string" ? { threadId: target } : target;
    if (address.resourceId !== undefined) await this.#requireThread(address);
    // The vectors first: if that fails, the thread is still there to be deleted again.
    await this.#index?.removeThread(address.threadId);
    await this.#notes?.removeThread(address.threadId);
    await (await this.#store()).deleteThread({ threadId: address.threadId });
  }

  /**
   * Copies a thread with its messages and working memory. `resourceId` is the owner of the copy. To copy a thread of
   * another resource, name its owner in `sourceResourceId`: a source of any other owner counts as absent. A working
   * memory that belongs to the resource is copied if the new owner has none.
   */
  async cloneThread(options: CloneThreadOptions): Promise<CloneThreadResult> {
    const store = await this.#store();
    const source = await this.#requireThread({
      threadId: options.sourceThreadId,
      resourceId: options.sourceResourceId ?? options.resourceId,
    });
    const result = await store.cloneThread(options, () => this.#system.newId());
    // A thread's own working memory is in its metadata, which the store has copied.
    if (this.#settings(undefined).workingMemory?.scope === "resource") {
      await this.#workingMemory.copyToResource(source.resourceId, result.thread);
    }
    await this.#indexMessages(result.clonedMessages, result.thread, undefined);
    return { ...result, clonedMessages: transcriptView(result.clonedMessages) };
  }

  getCloneMetadata(thread: StoredThread | null): ThreadCloneMetadata | null {
    return cloneMetadata(thread);
  }

  isClone(thread: StoredThread | null): boolean {
    return cloneMetadata(thread) !== null;
  }

  async getSourceThread(threadId: string): Promise<StoredThread | null> {
    const source = cloneMetadata(await this.getThreadById({ threadId }))?.sourceThreadId;
    return source === undefined ? null : this.getThreadById({ threadId: source });
  }

  /** The threads from the first original to this one. */
  async getCloneHistory(threadId: string): Promise<StoredThread[]> {
    return cloneHistory(await this.#store(), threadId);
  }

  /** The copies of a thread, newest first: those of the same resource, unless another is named. */
  async listClones(sourceThreadId: string, resourceId?: string): Promise<StoredThread[]> {
    return listClones(await this.#store(), sourceThreadId, resourceId);
  }

  // Messages

  /** Adds or replaces messages of existing threads, and indexes them if semantic recall is on. */
  async saveMessages(options: {
    messages: readonly (MessageLike & { threadId?: string })[];
    resourceId?: string | undefined;
    memoryConfig?: MemoryConfig | undefined;
  }): Promise<{ messages: StoredMessage[] }> {
    const store = await this.#store();
    const byThread = Map.groupBy(options.messages, (message) => String(message.threadId ?? ""));
    const threads = new Map<string, StoredThread>();
    for (const threadId of byThread.keys()) {
      threads.set(threadId, await this.#requireThread({ threadId, resourceId: options.resourceId }));
    }
    const messages = options.messages.map((message) =>
      this.#ownedBy(threads.get(String(message.threadId ?? "")) as StoredThread, message),
    );
    await store.saveMessages({ messages });
    for (const thread of threads.values()) {
      const added = messages.filter((message) => message.threadId === thread.id);
      await this.#indexMessages(added, thread, options.memoryConfig);
    }
    return { messages };
  }

  /** Changes stored messages: content by part, the rest as given. Unknown ids are ignored. */
  async updateMessages(options: {
    messages: readonly (Partial<Omit<StoredMessage, "content">> & {
      id: string;
      content?: Partial<StoredMessage["content"]>;
    })[];
    resourceId?: string | undefined;
    memoryConfig?: MemoryConfig | undefined;
  }): Promise<StoredMessage[]> {
    const store = await this.#store();
    const ids = options.messages.map((message) => message.id);
    const known = new Map(
      (await store.listMessagesById({ messageIds: ids })).messages.map((one) => [one.id, one]),
    );
    const changed = options.messages.flatMap(({ threadId: _, resourceId: __, ...change }) => {
      const before = known.get(change.id);
      if (!before || (options.resourceId !== undefined && before.resourceId !== options.resourceId))
        return [];
      return [{ ...before, ...change, content: { ...before.content, ...change.content } }];
    });
    if (changed.length === 0) return [];
    const { resourceId, memoryConfig } = options;
    return (await this.saveMessages({ messages: changed, resourceId, memoryConfig })).messages;
  }

  /** Deletes messages by id; with `resourceId`, only those of that resource. Unknown ids are ignored. */
  async deleteMessages(
    target: string | readonly (string | { id: string })[],
    options: { resourceId?: string | undefined } = {},
  ): Promise<void> {
    const store = await this.#store();
    let ids = (typeof target === "string" ? [target] : target).map((item) =>
      typeof item === "string" ? item : item.id,
    );
    if (ids.length === 0) return;
    if (options.resourceId !== undefined) {
      const { messages } = await store.listMessagesById({ messageIds: ids });
      ids = messages
        .filter((message) => message.resourceId === options.resourceId)
        .map((message) => message.id);
    }
    await this.#index?.removeMessages(ids);
    await store.deleteMessages(ids);
    this.#om?.nudge();
  }

  /** A page of a thread's messages, with those near in meaning to `vectorSearchString`. */
  async recall(options: RecallOptions): Promise<ListMessagesResult> {
    const { threadId, resourceId, orderBy, page, filter } = options;
    const settings = this.#settings(options.threadConfig);
    const perPage = options.perPage ?? settings.lastMessages;
    const thread = await this.getThreadById({ threadId, resourceId });
    if (!thread) return { messages: [], total: 0, page: page ?? 0, perPage, hasMore: false };
    const found = await this.#search(options.vectorSearchString, thread, settings);
    const result = await (
      await this.#store()
    ).listMessages({
      threadId,
      page,
      perPage,
      orderBy: orderBy ?? { direction: "DESC" },
      filter,
      include: options.include,
      // `include` may name messages of any thread: those of other owners are left out.
      resourceId: options.include && thread.resourceId,
    });
    const inOrder = orderBy ? result.messages : result.messages.toReversed();
    const known = new Set(inOrder.map((message) => message.id));
    const messages = [...found.filter((message) => !known.has(message.id)), ...inOrder];
    return { ...result, messages: options.raw ? messages : transcriptView(messages) };
  }

  /** The newest messages of a thread, and those found by meaning, in three forms. */
  async query(options: QueryOptions): Promise<QueryResult> {
    const { threadId, resourceId, selectBy = {}, threadConfig, raw } = options;
    const { include, vectorSearchString } = selectBy;
    const perPage = selectBy.last === false ? 0 : selectBy.last;
    const recall = { threadId, resourceId, perPage, include, vectorSearchString, threadConfig, raw };
    const { messages } = await this.recall(recall);
    const list = new MessageList(this.#system).prepend(messages);
    return { messages: list.get.all.model(), uiMessages: messages.map(toUIMessage), messagesV2: messages };
  }

  // Working memory

  /** The working memory that a run on this thread would see; `null` if there is none yet or it is off. */
  async getWorkingMemory(address: WorkingMemoryAddress): Promise<string | null> {
    const settings = this.#settings(address.memoryConfig).workingMemory;
    const place = settings && (await this.#workingMemory.locate(settings.scope, address));
    return place ? this.#workingMemory.read(place) : null;
  }

  /** Replaces the working memory. In schema mode the text is a JSON object. */
  async updateWorkingMemory(address: WorkingMemoryAddress & { workingMemory: string }): Promise<void> {
    const settings = this.#settings(address.memoryConfig).workingMemory;
    if (!settings) {
      throw new AgentError(
        "invalid-argument",
        "Working memory is off. Enable it: { workingMemory: { enabled: true } }.",
      );
    }
    const place = await this.#workingMemory.locate(settings.scope, address);
    if (!place) throw noThread(address.threadId);
    if (settings.schema !== undefined) parseMemory(address.workingMemory);
    await this.#workingMemory.update(place, () => address.workingMemory);
  }

  /** The working memory instructions of a run on this thread, or `null` if it is off. */
  async getSystemMessage(address: WorkingMemoryAddress): Promise<string | null> {
    const { workingMemory, readOnly } = this.#settings(address.memoryConfig);
    if (!workingMemory) return null;
    return workingMemoryPrompt(workingMemory, await this.getWorkingMemory(address), readOnly);
  }

  /** What a call with this configuration would use, including the memory's own settings and defaults. */
  getMergedThreadConfig(config?: MemoryConfig): MemoryConfig {
    return toMemoryConfig(this.#settings(config));
  }

  #settings(call: MemoryConfig | undefined): MemorySettings {
    return toMemorySettings(this.#options, call, this.#has, this.#om?.config);
  }

  async #store(): Promise<ThreadDomain> {
    const storage = this.#requireStorage();
    const store = await storage.getStore("memory");
    if (store) return store;
    throw new AgentError("storage-required", `Store "${storage.id}" does not store threads and messages.`);
  }

  #requireStorage(): Storage {
    if (this.#storage) return this.#storage;
    throw new AgentError(
      "storage-required",
      "This memory has no store: pass `storage` to new Memory({ … }), or register its agent with a Mastra that has one.",
    );
  }

  async #requireThread(address: ThreadAddress): Promise<StoredThread> {
    const thread = await this.getThreadById(address);
    if (!thread) throw noThread(address.threadId);
    return thread;
  }

  #toolInput({ schema }: WorkingMemorySettings): JsonSchema {
    if (schema === undefined) return workingMemoryInput(undefined);
    let input = this.#toolInputs.get(schema);
    if (!input) this.#toolInputs.set(schema, (input = workingMemoryInput(schema)));
    return input;
  }

  async #search(
    text: string | undefined,
    thread: StoredThread,
    settings: MemorySettings,
  ): Promise<StoredMessage[]> {
    if (text === undefined || text.trim() === "") return [];
    const recall = settings.recall ?? this.#settings({ semanticRecall: true }).recall;
    if (!recall || !this.#index) return [];
    const { id: threadId, resourceId } = thread;
    const search = { text, threadId, resourceId, settings: recall, present: new Set<string>() };
    return findMessages(await this.#store(), this.#index, search);
  }

  async #indexMessages(
    messages: StoredMessage[],
    thread: StoredThread,
    config: MemoryConfig | undefined,
  ): Promise<void> {
    if (!this.#index || !this.#settings(config).recall) return;
    try {
      await this.#index.add(messages, { threadId: thread.id, resourceId: thread.resourceId });
    } catch (error) {
      this.#warn(`Indexing messages of thread "${thread.id}" failed; they are stored.`, error);
    }
  }

  #ownedBy({ id: threadId, resourceId }: StoredThread, message: MessageLike): StoredMessage {
    if ((message["resourceId"] ?? resourceId) !== resourceId) throw noThread(threadId);
    const [stored] = new MessageList(this.#system).add(message, "input").get.all.db();
    return { ...(stored as StoredMessage), threadId, resourceId };
  }
}
