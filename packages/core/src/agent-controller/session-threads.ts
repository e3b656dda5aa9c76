import type { StoredThread } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { MastraMemory } from "../memory/memory.ts";
import { checkId } from "../storage/check-id.ts";
import type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
import { describeThread, insertThread } from "../storage/message-writes.ts";
import type { StoredSession } from "./session-domain.ts";
import type { Write } from "../storage/storage.ts";
import { RUNS } from "../storage/thread-tables.ts";
import {
  type AgentControllerMessage,
  type AgentControllerThread,
  toControllerMessage,
} from "@selvedge/protocol/session";
import { checkOptions } from "./check-options.ts";
import { modeOf } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import { helperSettings, isReserved, modelIn, settingsOf, tagsAsMetadata } from "./thread-settings.ts";

/** A memory that can do more with threads than the store can, such as forget what finds their messages. */
type ThreadMemory = MastraMemory & {
  cloneThread?(options: CloneThreadOptions): Promise<CloneThreadResult>;
  deleteThread?(threadId: string): Promise<void>;
};

const CANDIDATES = 100;

/** The threads of a session: which one it is on, and what can be done with them. */
export class SessionThreads {
  readonly #core: SessionCore;
  readonly #memory: () => Promise<MastraMemory | null>;

  constructor(core: SessionCore, memory: () => Promise<MastraMemory | null>) {
    this.#core = core;
    this.#memory = memory;
  }

  getId(): string | null {
    return this.#core.threadId ?? null;
  }

  isSet(): boolean {
    return this.#core.threadId !== undefined;
  }

  requireId(): string {
    const { threadId } = this.#core;
    if (threadId !== undefined) return threadId;
    throw new AgentError(
      "not-found",
      `Session "${this.#core.row.id}" has no thread. Create or select one first.`,
    );
  }

  /** Threads of the session's resource, the newest first. Those of subagents are left out. */
  async list(
    options: { allResources?: boolean; includeForkedSubagents?: boolean } = {},
  ): Promise<AgentControllerThread[]> {
    await this.#core.ready();
    const { resourceId } = this.#core.row;
    const { threads } = await (
      await this.#domain()
    ).listThreads({
      ...(!options.allResources && { filter: { resourceId } }),
      orderBy: { field: "updatedAt" },
      perPage: false,
    });
    return options.includeForkedSubagents ? threads : threads.filter(isForPeople);
  }

  async getById(options: { threadId: string }): Promise<AgentControllerThread | null> {
    const { threadId } = checkOptions("thread.getById", options);
    await this.#core.ready();
    const thread = await (await this.#domain()).getThreadById({ threadId });
    return thread?.resourceId === this.#core.row.resourceId ? thread : null;
  }

  async listActiveMessages(options: { limit?: number } = {}): Promise<AgentControllerMessage[]> {
    await this.#core.ready();
    const { threadId } = this.#core;
    return threadId === undefined ? [] : this.listMessages({ ...options, threadId });
  }

  /** The newest messages, oldest first. */
  async listMessages(options: { threadId: string; limit?: number }): Promise<AgentControllerMessage[]> {
    const { threadId, limit } = checkOptions("thread.listMessages", options);
    if (limit !== undefined && !(Number.isInteger(limit) && limit >= 0))
      throw new AgentError(
        "invalid-argument",
        `limit must be a whole number, 0 or more, got ${showValue(limit)}.`,
      );
    await this.require(threadId);
    const domain = await this.#domain();
    const messages =
      limit === undefined
        ? (await domain.listMessages({ threadId, perPage: false })).messages
        : limit === 0
          ? []
          : await domain.recentMessages({ threadId, limit });
    return messages.map(toControllerMessage);
  }

  async firstUserMessage(options: { threadId: string }): Promise<AgentControllerMessage | null> {
    const { threadId } = checkOptions("thread.firstUserMessage", options);
    return (await this.firstUserMessages({ threadIds: [threadId] })).get(threadId) ?? null;
  }

  /** For previews: what each conversation began with. */
  async firstUserMessages(options: { threadIds: string[] }): Promise<Map<string, AgentControllerMessage>> {
    const { threadIds } = checkOptions("thread.firstUserMessages", options);
    if (!Array.isArray(threadIds))
      throw new AgentError("invalid-argument", `threadIds must be a list, got ${showValue(threadIds)}.`);
    const domain = await this.#domain();
    const found = new Map<string, AgentControllerMessage>();
    for (const threadId of threadIds) {
      if (!(await this.getById({ threadId }))) continue;
      const { messages } = await domain.listMessages({ threadId, perPage: 20, page: 0 });
      const first = messages.map(toControllerMessage).find(({ role }) => role === "user");
      if (first) found.set(threadId, first);
    }
    return found;
  }

  async getSetting(options: { key: string }): Promise<unknown> {
    const { key } = checkOptions("thread.getSetting", options);
    const thread = await this.#current();
    const { metadata = {} } = thread ?? {};
    return Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  }

  async setSetting(options: { key: string; value: unknown }): Promise<void> {
    const { key, value } = checkOptions("thread.setSetting", options);
    if (isReserved(checkId("key", key)))
      throw new AgentError(
        "invalid-argument",
        `Setting "${key}" is the controller's own. Use mode.switch() or model.switch(), or another key.`,
      );
    const thread = await this.#current();
    if (thread) await (await this.#domain()).updateThread({ id: thread.id, metadata: { [key]: value } });
  }

  async deleteSetting(options: { key: string }): Promise<void> {
    await this.setSetting({ ...options, value: null });
  }

  /** Makes a thread and goes to it. */
  create(options: { title?: string; threadId?: string } = {}): Promise<AgentControllerThread> {
    return this.#create(options, () => true);
  }

  async #create(
    options: { title?: string; threadId?: string },
    isWanted: (row: StoredSession) => boolean,
  ): Promise<AgentControllerThread> {
    const core = this.#core;
    checkOptions("thread.create", options);
    await core.ready();
    const { host } = core;
    const id = checkId("threadId", options.threadId ?? host.newId());
    if (await (await this.#domain()).getThreadById({ threadId: id }))
      throw new AgentError(
        "conflict",
        `There is already a thread "${id}". Switch to it, or leave the id out.`,
      );
    const make = (row: StoredSession): StoredThread => {
      const now = new Date(host.system.now());
      return {
        id,
        resourceId: row.resourceId,
        ...(options.title !== undefined && { title: options.title }),
        metadata: { ...scopeOf(row), ...settingsOf(row) },
        createdAt: now,
        updatedAt: now,
      };
    };
    const thread = make(core.row);
    return core.lock.moveTo(id, async () => {
      core.willCreate(thread);
      try {
        await core.change(async (row) => {
          if (!isWanted(row)) throw moved(row);
          return { patch: { threadId: id }, also: [insertThread(make(row))] };
        });
      } catch (error) {
        core.willCreate(undefined);
        throw error;
      }
      await core.followed();
      return thread;
    });
  }

  /** Goes to another thread. The run that this session has under way is aborted, unless it is to go on. */
  async switch(options: { threadId: string; abort?: boolean }): Promise<AgentControllerThread> {
    return this.#switch(checkOptions("thread.switch", options), () => true);
  }

  async #switch(
    { threadId, abort = true }: { threadId: string; abort?: boolean },
    isWanted: (row: StoredSession) => boolean,
  ): Promise<AgentControllerThread> {
    const core = this.#core;
    const thread = await this.require(threadId);
    if (core.threadId === threadId) return thread;
    return core.lock.moveTo(threadId, async () => {
      if (abort) await this.#abortOwnRun();
      await core.change(async (row) => {
        if (!isWanted(row)) throw moved(row);
        return this.#bound(row, await this.require(threadId));
      });
      await core.followed();
      return thread;
    });
  }

  /** The newest thread that is free, or a new one. */
  async selectOrCreate(): Promise<AgentControllerThread> {
    const core = this.#core;
    await core.ready();
    const before = core.threadId;
    const isWanted = (row: StoredSession) => row.threadId === before;
    const scope = scopeOf(core.row);
    const { threads } = await (
      await this.#domain()
    ).listThreads({
      filter: { resourceId: core.row.resourceId, metadata: scope },
      orderBy: { field: "updatedAt" },
      perPage: CANDIDATES,
    });
    for (const thread of threads.filter(isForPeople)) {
      if (!isWanted(core.row)) break;
      try {
        return await this.#switch({ threadId: thread.id }, isWanted);
      } catch (error) {
        core.host.logger.debug(`Thread "${thread.id}" is not free`, error);
      }
    }
    try {
      return await this.#create({}, isWanted);
    } catch (error) {
      // Opened by two processes at once, the session is on the thread of the faster one.
      const { threadId } = core;
      if (threadId === undefined || threadId === before) throw error;
      await core.followed();
      return this.require(threadId);
    }
  }

  /** The current thread, unless another is named. */
  async rename(options: { title: string; threadId?: string }): Promise<void> {
    const { title, threadId } = checkOptions("thread.rename", options);
    if (typeof title !== "string")
      throw new AgentError("invalid-argument", `title must be a string, got ${showValue(title)}.`);
    const thread = threadId === undefined ? await this.#current() : await this.require(threadId);
    if (thread) await (await this.#domain()).updateThread({ id: thread.id, title });
  }

  /** Copies a thread and goes to the copy. */
  async clone(
    options: { sourceThreadId?: string; title?: string; resourceId?: string } = {},
  ): Promise<AgentControllerThread> {
    const core = this.#core;
    checkOptions("thread.clone", options);
    await core.ready();
    const memory = (await this.#memory()) as ThreadMemory | null;
    if (!memory?.cloneThread)
      throw new AgentError(
        "memory-required",
        "Copies of threads need a memory: pass memory to the AgentController, or to its agent.",
      );
    const source = await this.require(options.sourceThreadId ?? this.requireId());
    const { thread } = await memory.cloneThread({
      sourceThreadId: source.id,
      newThreadId: core.host.newId(),
      sourceResourceId: source.resourceId,
      ...(options.resourceId !== undefined && { resourceId: checkId("resourceId", options.resourceId) }),
      ...(options.title !== undefined && { title: options.title }),
    });
    return core.lock.moveTo(thread.id, async () => {
      core.willCreate(thread);
      await core.change(async (row) => {
        const { patch, also } = this.#bound(row, thread);
        return { patch: { ...patch, resourceId: thread.resourceId }, also };
      });
      await core.followed();
      return thread;
    });
  }

  /** Deletes a thread with all its messages. */
  async delete(options: { threadId: string }): Promise<void> {
    const { threadId } = checkOptions("thread.delete", options);
    const core = this.#core;
    await this.require(threadId);
    if (core.threadId === threadId) {
      await this.#abortOwnRun();
      await core.change(async () => ({ patch: { threadId: undefined } }));
      await core.followed();
    }
    const memory = (await this.#memory()) as ThreadMemory | null;
    if (memory?.deleteThread) await memory.deleteThread(threadId);
    else await (await this.#domain()).deleteThread({ threadId });
    core.bus.emit({ type: "thread_deleted", threadId });
  }

  /** A thread of the session's resource. Any other counts as absent. */
  async require(threadId: string): Promise<AgentControllerThread> {
    const thread = await this.getById({ threadId: checkId("threadId", threadId) });
    if (thread) return thread;
    throw new AgentError(
      "not-found",
      `There is no thread "${threadId}" for resource "${this.#core.row.resourceId}".`,
    );
  }

  /** The row of a session that comes to a thread: with the mode and the model that the thread was left in. */
  #bound(
    row: StoredSession,
    { id, metadata = {} }: StoredThread,
  ): { patch: Pick<StoredSession, "threadId" | "modeId" | "modelId" | "settings">; also: Write[] } {
    const { config } = this.#core.host;
    const wanted = metadata["currentModeId"];
    const known = config.modes.some((mode) => mode.id === wanted);
    const modeId = known ? (wanted as string) : row.modeId;
    const mode = modeOf(config, modeId);
    const modelId = modelIn(metadata, mode) || row.modelId;
    const patch = {
      threadId: id,
      modeId,
      modelId,
      settings: { ...row.settings, ...helperSettings(metadata) },
    };
    return { patch, also: describeThread(id, { metadata: settingsOf({ ...row, ...patch }) }) };
  }

  /** Aborts what goes on, if this session began it: others may work on the same thread. */
  async #abortOwnRun(): Promise<void> {
    const { activeRunId, host, row } = this.#core;
    if (activeRunId === null) return;
    const [run] = await host.storage.select({ table: RUNS, where: { id: activeRunId }, limit: 1 });
    const { profile } = Object(run?.options) as { profile?: { sessionId?: unknown } };
    if (profile?.sessionId === row.id) this.#core.abort();
  }

  async #current(): Promise<AgentControllerThread | null> {
    await this.#core.ready();
    const { threadId } = this.#core;
    return threadId === undefined ? null : this.getById({ threadId });
  }

  #domain(): ReturnType<SessionCore["host"]["memory"]> {
    return this.#core.host.memory();
  }
}

function moved({ id }: StoredSession): AgentError {
  return new AgentError("conflict", `Session "${id}" went to another thread meanwhile.`);
}

/** What keeps the threads of a session apart from others of its resource. */
function scopeOf({ tags, state }: StoredSession): Record<string, string> {
  if (Object.keys(tags).length > 0) return tagsAsMetadata(tags) as Record<string, string>;
  const path = state["projectPath"];
  return typeof path === "string" ? { projectPath: path } : {};
}

function isForPeople({ metadata }: StoredThread): boolean {
  return metadata?.["forkedSubagent"] !== true && metadata?.["subagent"] !== true;
}
