import {
  type AgentControllerMessage,
  type AgentControllerThread,
  toControllerMessage,
} from "@selvedge/protocol/session";
import { changeSetting } from "./session-settings.ts";
import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { THREADS } from "../storage/tables.ts";
import { listRuns } from "../thread/inspect/thread-overview.ts";
import { checkOptions } from "./check-options.ts";
import type { SessionCore } from "./session-core.ts";
import { isControllerKey, isReserved, subagentThreadId } from "./thread-settings.ts";

/** How many runs back a subagent is looked for. */
const SUBAGENT_RUNS = 100;

/** What a session can look up about the threads of its resource. */
export class ThreadReads {
  protected readonly core: SessionCore;

  constructor(core: SessionCore) {
    this.core = core;
  }

  getId(): string | null {
    return this.core.threadId ?? null;
  }

  isSet(): boolean {
    return this.core.threadId !== undefined;
  }

  requireId(): string {
    return this.core.requireThread();
  }

  /** Threads of the session's resource, newest first, without those of subagents. */
  async list(
    options: { allResources?: boolean; includeForkedSubagents?: boolean } = {},
  ): Promise<AgentControllerThread[]> {
    await this.core.ready();
    if (!this.core.host.lasts) return [];
    const { resourceId } = this.core.row;
    const { threads } = await (
      await this.domain()
    ).listThreads({
      ...(!options.allResources && { filter: { resourceId } }),
      orderBy: { field: "updatedAt" },
      perPage: false,
      includeSubagents: options.includeForkedSubagents,
    });
    return threads;
  }

  async getById(options: { threadId: string }): Promise<AgentControllerThread | null> {
    const { threadId } = checkOptions("thread.getById", options);
    await this.core.ready();
    const thread = await (await this.domain()).getThreadById({ threadId });
    return thread?.resourceId === this.core.row.resourceId ? thread : null;
  }

  async listActiveMessages(options: { limit?: number } = {}): Promise<AgentControllerMessage[]> {
    await this.core.ready();
    const { threadId } = this.core;
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
    if (!this.core.host.lasts) return [];
    const domain = await this.domain();
    const messages =
      limit === undefined
        ? (await domain.listMessages({ threadId, perPage: false })).messages
        : limit === 0
          ? []
          : await domain.recentMessages({ threadId, limit });
    return messages.map(toControllerMessage);
  }

  /** The thread of a call's subagent, if its run is still stored. */
  async ofSubagent(options: { toolCallId: string }): Promise<AgentControllerThread | null> {
    const toolCallId = checkId("toolCallId", checkOptions("thread.ofSubagent", options).toolCallId);
    await this.core.ready();
    const { threadId, row, host } = this.core;
    if (threadId === undefined) return null;
    const { runs } = await listRuns(host.storage, { threadId, perPage: SUBAGENT_RUNS });
    const ids = runs.map(({ runId }) => subagentThreadId({ runId, toolCallId }));
    const threads = await host.storage.select({
      table: THREADS,
      where: { id: { in: ids }, resource_id: row.resourceId },
      limit: ids.length,
    });
    const newest = ids.find((id) => threads.some((thread) => thread.id === id));
    return newest === undefined ? null : this.getById({ threadId: newest });
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
    const domain = await this.domain();
    const found = new Map<string, AgentControllerMessage>();
    if (!this.core.host.lasts) return found;
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
    const thread = await this.current();
    const { metadata = {} } = thread ?? {};
    return Object.hasOwn(metadata, key) ? metadata[key] : undefined;
  }

  async setSetting(options: { key: string; value: unknown }): Promise<void> {
    const { key, value } = checkOptions("thread.setSetting", options);
    if (isReserved(checkId("key", key)))
      throw new AgentError(
        "invalid-argument",
        `Setting "${key}" is reserved for the controller. Use mode.switch() or model.switch(), or another key.`,
      );
    const thread = this.core.host.lasts ? await this.current() : null;
    // The session itself has these too.
    if (isControllerKey(key)) await changeSetting(this.core, key, value);
    else if (thread) await (await this.domain()).updateThread({ id: thread.id, metadata: { [key]: value } });
  }

  async deleteSetting(options: { key: string }): Promise<void> {
    await this.setSetting({ ...options, value: null });
  }

  /** A thread of the session's resource. Any other counts as absent. */
  async require(threadId: string): Promise<AgentControllerThread> {
    const thread = await this.getById({ threadId: checkId("threadId", threadId) });
    if (thread) return thread;
    throw new AgentError(
      "not-found",
      `There is no thread "${threadId}" for resource "${this.core.row.resourceId}".`,
    );
  }

  protected async current(): Promise<AgentControllerThread | null> {
    await this.core.ready();
    const { threadId } = this.core;
    return threadId === undefined ? null : this.getById({ threadId });
  }

  protected domain(): ReturnType<SessionCore["host"]["memory"]> {
    return this.core.host.memory();
  }
}
