import type { StoredThread } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { describeThread, insertThread } from "../storage/message-writes.ts";
import type { StoredSession } from "./session-domain.ts";
import type { Write } from "../storage/storage.ts";
import { type AgentControllerThread, DELETED_THREADS } from "@selvedge/protocol/session";
import { checkOptions } from "./check-options.ts";
import type { ThreadMemory } from "./controller-host.ts";
import { modeOf, sessionOfRun } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import { ThreadReads } from "./thread-reads.ts";
import { helperSettings, modelIn, settingsOf, tagsAsMetadata, withoutModes } from "./thread-settings.ts";

const CANDIDATES = 100;
/** How many deleted threads a session announces to listeners that reconnect. */
const REMEMBERED = 20;

/** The threads of a session: the current one, and operations on them. */
export class SessionThreads extends ThreadReads {
  readonly #memory: () => Promise<ThreadMemory | null>;

  constructor(core: SessionCore, memory: () => Promise<ThreadMemory | null>) {
    super(core);
    this.#memory = memory;
  }

  /** Creates a thread and moves to it. */
  create(options: { title?: string; threadId?: string } = {}): Promise<AgentControllerThread> {
    return this.#create(options, () => true);
  }

  async #create(
    options: { title?: string; threadId?: string },
    isWanted: (row: StoredSession) => boolean,
  ): Promise<AgentControllerThread> {
    const core = this.core;
    checkOptions("thread.create", options);
    await core.ready();
    const { host } = core;
    const id = checkId("threadId", options.threadId ?? host.newId());
    if (await (await this.domain()).getThreadById({ threadId: id }))
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
        metadata: { ...scopeOf(row).metadata, ...settingsOf(row) },
        createdAt: now,
        updatedAt: now,
      };
    };
    const thread = make(core.row);
    return core.thread.lock.moveTo(id, async () => {
      core.thread.willCreate(thread);
      try {
        await core.change(async (row) => {
          if (!isWanted(row)) throw moved(row);
          return { patch: { threadId: id }, also: [insertThread(make(row))] };
        });
      } catch (error) {
        core.thread.willCreate(undefined);
        throw error;
      }
      await core.thread.followed();
      return thread;
    });
  }

  /** Moves to another thread. Aborts the active run of this session, unless it should continue. */
  async switch(options: { threadId: string; abort?: boolean }): Promise<AgentControllerThread> {
    return this.#switch(checkOptions("thread.switch", options), () => true);
  }

  async #switch(
    { threadId, abort = true }: { threadId: string; abort?: boolean },
    isWanted: (row: StoredSession) => boolean,
  ): Promise<AgentControllerThread> {
    const core = this.core;
    const thread = await this.require(threadId);
    if (core.threadId === threadId) return thread;
    return core.thread.lock.moveTo(threadId, async () => {
      if (abort) await this.#abortOwnRun();
      await core.change(async (row) => {
        if (!isWanted(row)) throw moved(row);
        return this.#bound(row, await this.require(threadId));
      });
      await core.thread.followed();
      return thread;
    });
  }

  /** The thread with an id: an existing one, or a new one. */
  async goTo(threadId: string): Promise<AgentControllerThread> {
    const known = await (await this.domain()).getThreadById({ threadId: checkId("threadId", threadId) });
    return known ? this.switch({ threadId, abort: false }) : this.create({ threadId });
  }

  /** The newest thread that is free, or a new one. */
  async selectOrCreate(): Promise<AgentControllerThread> {
    const core = this.core;
    await core.ready();
    const before = core.threadId;
    const isWanted = (row: StoredSession) => row.threadId === before;
    const scope = scopeOf(core.row);
    // An inferred scope does not match threads that have more specific tags.
    const metadata = scope.isInferred ? scope.metadata : tagsAsMetadata(core.row.tags);
    const { threads } = await (
      await this.domain()
    ).listThreads({
      filter: { resourceId: core.row.resourceId, metadata: metadata as Record<string, string> },
      orderBy: { field: "updatedAt" },
      perPage: CANDIDATES,
    });
    for (const thread of threads) {
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
      // If two processes open the session at once, the first one decides its thread.
      const { threadId } = core;
      if (threadId === undefined || threadId === before) throw error;
      await core.thread.followed();
      return this.require(threadId);
    }
  }

  /** The current thread, unless another is named. */
  async rename(options: { title: string; threadId?: string }): Promise<void> {
    const { title, threadId } = checkOptions("thread.rename", options);
    if (typeof title !== "string")
      throw new AgentError("invalid-argument", `title must be a string, got ${showValue(title)}.`);
    const thread = threadId === undefined ? await this.current() : await this.require(threadId);
    if (thread) await (await this.domain()).updateThread({ id: thread.id, title });
  }

  /** Copies a thread and moves to the copy. */
  async clone(
    options: { sourceThreadId?: string; title?: string; resourceId?: string } = {},
  ): Promise<AgentControllerThread> {
    const core = this.core;
    checkOptions("thread.clone", options);
    await core.ready();
    const memory = await this.#memory();
    if (!memory?.cloneThread)
      throw new AgentError(
        "memory-required",
        "Copying a thread requires a memory: pass memory to the AgentController, or to its agent.",
      );
    const source = await this.require(options.sourceThreadId ?? this.requireId());
    const { thread } = await memory.cloneThread({
      sourceThreadId: source.id,
      newThreadId: core.host.newId(),
      sourceResourceId: source.resourceId,
      ...(options.resourceId !== undefined && { resourceId: checkId("resourceId", options.resourceId) }),
      ...(options.title !== undefined && { title: options.title }),
    });
    return core.thread.lock.moveTo(thread.id, async () => {
      core.thread.willCreate(thread);
      await core.change(async (row) => {
        const { patch, also } = this.#bound(row, thread);
        return { patch: { ...patch, resourceId: thread.resourceId }, also };
      });
      await core.thread.followed();
      return thread;
    });
  }

  /** Deletes a thread with all its messages. */
  async delete(options: { threadId: string }): Promise<void> {
    const { threadId } = checkOptions("thread.delete", options);
    const core = this.core;
    await this.require(threadId);
    if (core.threadId === threadId) {
      await this.#abortOwnRun();
      await core.change(async () => ({ patch: { threadId: undefined } }));
      await core.thread.followed();
    }
    const memory = await this.#memory();
    if (memory?.deleteThread) await memory.deleteThread(threadId);
    else await (await this.domain()).deleteThread({ threadId });
    await core.change(async ({ settings }) => {
      const before = settings[DELETED_THREADS];
      const known = Array.isArray(before) ? (before as unknown[]) : [];
      const deleted = [...known.filter((id) => id !== threadId), threadId].slice(-REMEMBERED);
      return { patch: { settings: { ...settings, [DELETED_THREADS]: deleted } } };
    });
  }

  /** The row of a session that moves to a thread, with the last mode and model of that thread. */
  #bound(
    row: StoredSession,
    { id, metadata = {} }: StoredThread,
  ): { patch: Pick<StoredSession, "threadId" | "modeId" | "modelId" | "settings">; also: Write[] } {
    const { config } = this.core.host;
    const wanted = metadata["currentModeId"];
    const known = config.modes.some((mode) => mode.id === wanted);
    const modeId = known ? (wanted as string) : row.modeId;
    const mode = modeOf(config, modeId);
    const modelId = modelIn(metadata, mode) || row.modelId;
    const patch = {
      threadId: id,
      modeId,
      modelId,
      settings: { ...withoutModes(row.settings), ...helperSettings(metadata) },
    };
    return { patch, also: describeThread(id, { metadata: settingsOf({ ...row, ...patch }) }) };
  }

  /** Aborts the active run if this session started it. Others may work on the same thread. */
  async #abortOwnRun(): Promise<void> {
    const { host, row, thread } = this.core;
    const { activeRunId } = thread;
    if (activeRunId === null) return;
    if ((await sessionOfRun(host.storage, activeRunId)) === row.id) thread.abort();
  }
}

function moved({ id }: StoredSession): AgentError {
  return new AgentError("conflict", `Session "${id}" switched to another thread in the meantime.`);
}

/** What separates the threads of a session from others of its resource: its tags, or the folder in its state. */
function scopeOf({ tags, state }: StoredSession): { metadata: Record<string, string>; isInferred: boolean } {
  const path = state["projectPath"];
  const isInferred = Object.keys(tags).length === 0 && typeof path === "string";
  const own = (isInferred ? { projectPath: path } : tagsAsMetadata(tags)) as Record<string, string>;
  const names = Object.keys(own).toSorted().join(",");
  return { metadata: { ...own, ...(names !== "" && { scopedBy: names }) }, isInferred };
}
