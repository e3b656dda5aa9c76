import { AgentError, type System } from "@selvedge/core";
import {
  assemble,
  checkId,
  cloneThread,
  type Domain,
  insert,
  MESSAGES,
  remove,
  requireRow,
  type Storage,
  update,
  type Where,
} from "@selvedge/core/storage";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { RESPONSES, type ResponseRow } from "./response-table.ts";

/** A response, whose id names the state of a thread right after it. */
export interface StoredResponse {
  id: string;
  threadId: string;
  resourceId: string;
  agentId: string;
  /** The response it continues. */
  previousId?: string;
  createdAt: Date;
}

/** A response's position on its thread. */
interface Span {
  after: number;
  /** `undefined`: the end of the thread. */
  until: number | undefined;
  /** Calls it left open, even if they have results by now. */
  open: ReadonlySet<string>;
}

/** What becomes unneeded when a response is deleted. */
export type ResponseRemains =
  | { kind: "thread"; threadId: string }
  | { kind: "messages"; messageIds: string[] };

/** How many messages are copied when a response is continued a second time. */
const MOST_COPIED = 1000;
const MOST_COPIED_BYTES = 64 << 20;
const MOST_ANSWERED = 1000;

/** Responses by id. Each can be continued any number of times, on ordinary threads. */
export class ResponseDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  async getResponse(id: string): Promise<StoredResponse | undefined> {
    const row = await this.#find({ id: checkId("responseId", id), deleted_at: null });
    return row && toResponse(row);
  }

  /** A response that can be deleted, including one whose deletion was started but not finished. */
  async getDeletable(id: string): Promise<StoredResponse | undefined> {
    const row = await this.#find({ id: checkId("responseId", id) });
    if (!row || row.deleted_at == null) return row && toResponse(row);
    // The last response of a thread takes its rows with it.
    const response = toResponse(row);
    return (await this.#lastOthers(response)) ? undefined : response;
  }

  /**
   * Records a response before it is made. Its thread is a new one, that of `previous` if nothing follows there yet, or
   * a copy of it up to that point. `answered` are calls of `previous` that now get results.
   */
  async beginResponse(options: {
    id: string;
    resourceId: string;
    agentId: string;
    previous?: StoredResponse | undefined;
    answered?: readonly string[] | undefined;
  }): Promise<StoredResponse> {
    const { id, resourceId, agentId, previous, answered = [] } = options;
    if (answered.length > MOST_ANSWERED)
      throw new AgentError(
        "invalid-argument",
        `A response accepts at most ${MOST_ANSWERED} results of calls.`,
      );
    const row = {
      id: checkId("responseId", id),
      resource_id: checkId("resourceId", resourceId),
      agent_id: agentId,
      previous_id: previous?.id ?? null,
      answered: answered.length === 0 ? null : [...answered],
      created_at: Math.trunc(this.#system.now()),
    };
    if (!previous) return this.#insert({ ...row, thread_id: this.#system.newId(), after_seq: 0 }, previous);
    try {
      const { threadId: thread_id } = previous;
      const after_seq = await this.#lastSeq(thread_id);
      return await this.#insert({ ...row, thread_id, after_seq, follows: previous.id }, previous);
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error;
      const thread_id = await this.#branch(previous, id);
      return this.#insert({ ...row, thread_id, after_seq: await this.#lastSeq(thread_id) }, previous);
    }
  }

  /** Removes a response that was never made. */
  async forgetResponse({ id }: StoredResponse): Promise<void> {
    await this.#storage.commit([remove(RESPONSES, { id })]);
  }

  /** The content of a response, with its input. */
  async listResponseMessages(response: StoredResponse): Promise<StoredMessage[]> {
    const { after, ...span } = await this.#span(response);
    return this.#read(response, { ...span, after }, MOST_COPIED);
  }

  /** The last messages of the conversation that a response ends. */
  async listMessagesUntil(response: StoredResponse, limit: number): Promise<StoredMessage[]> {
    return this.#read(response, { ...(await this.#span(response)), after: 0 }, limit);
  }

  /**
   * Deletes a response, and calls `remove` for what is no longer needed. Whatever later responses on its thread build
   * on stays until they are deleted. From the first commit on it cannot be continued, so nothing can come to depend on
   * what is removed.
   */
  async deleteResponse(
    response: StoredResponse,
    remove: (remains: ResponseRemains) => Promise<void>,
  ): Promise<void> {
    const { id, threadId } = response;
    await this.#mark(id, Math.trunc(this.#system.now()));
    try {
      const last = await this.#lastOthers(response);
      if (!last) return await remove({ kind: "thread", threadId });
      const { until } = await this.#span(toResponse(last));
      if (until === undefined) return;
      const where = { thread_id: threadId, seq: { gt: until } };
      const rows = await this.#storage.select({ table: MESSAGES, where });
      await remove({ kind: "messages", messageIds: rows.map((row) => row.id) });
    } catch (error) {
      await this.#mark(id, null);
      throw error;
    }
  }

  #mark(id: string, deletedAt: number | null): Promise<unknown> {
    const set = { deleted_at: deletedAt };
    return this.#storage.commit([update(RESPONSES, { where: { id }, set })]);
  }

  /** The last of the other responses on the same thread. */
  async #lastOthers({ id, threadId }: StoredResponse): Promise<ResponseRow | undefined> {
    const [last] = await this.#storage.select({
      table: RESPONSES,
      where: { thread_id: threadId, deleted_at: null, id: { ne: id } },
      orderBy: [{ column: "after_seq", direction: "desc" }],
      limit: 1,
    });
    return last;
  }

  async #insert(
    row: Omit<ResponseRow, "follows" | "deleted_at"> & { follows?: string },
    previous: StoredResponse | undefined,
  ): Promise<StoredResponse> {
    const response = insert(RESPONSES, row);
    if (!previous) await this.#storage.commit([response]);
    else {
      const where = { id: previous.id, deleted_at: null };
      try {
        await this.#storage.commit([requireRow(RESPONSES, where), response]);
      } catch (error) {
        if (!AgentError.is(error, "conflict") || error.details?.["index"] !== 0) throw error;
        throw new AgentError("not-found", `There is no response "${previous.id}".`);
      }
    }
    return toResponse(row);
  }

  async #branch(previous: StoredResponse, id: string): Promise<string> {
    const { until, open } = await this.#span(previous);
    const { thread } = await cloneThread(
      this.#storage,
      {
        sourceThreadId: previous.threadId,
        metadata: { response: { id, previousId: previous.id } },
        options: { messageLimit: MOST_COPIED, maxBytes: MOST_COPIED_BYTES },
      },
      {
        newId: () => this.#system.newId(),
        now: this.#system.now(),
        system: this.#system,
        untilSeq: until,
        edit: (message) => reopen(message, open),
      },
    );
    return thread.id;
  }

  async #span({ id }: StoredResponse): Promise<Span> {
    const [own, next] = await Promise.all([this.#find({ id }), this.#find({ follows: id })]);
    if (!own) throw new AgentError("not-found", `There is no response "${id}".`);
    return {
      after: own.after_seq as number,
      until: (next?.after_seq ?? undefined) as number | undefined,
      open: new Set((next?.answered ?? []) as string[]),
    };
  }

  async #read({ threadId }: StoredResponse, { after, until, open }: Span, limit: number) {
    const seq = { gt: after, ...(until !== undefined && { lte: until }) };
    const rows = await this.#storage.select({
      table: MESSAGES,
      where: { thread_id: threadId, seq },
      orderBy: [{ column: "seq", direction: "desc" }],
      limit,
    });
    const messages = await assemble(this.#storage, rows.reverse());
    return messages.map((message) => reopen(message, open));
  }

  async #lastSeq(threadId: string): Promise<number> {
    const [row] = await this.#storage.select({
      table: MESSAGES,
      where: { thread_id: threadId },
      orderBy: [{ column: "seq", direction: "desc" }],
      limit: 1,
    });
    return (row?.seq as number | undefined) ?? 0;
  }

  async #find(where: Where): Promise<ResponseRow | undefined> {
    const [row] = await this.#storage.select({ table: RESPONSES, where, limit: 1 });
    return row;
  }
}

export const RESPONSE_DOMAIN: Domain<ResponseDomain> = {
  name: "openai-responses",
  version: 1,
  tables: [RESPONSES],
  open: (storage, system) => new ResponseDomain(storage, system),
};

/** A message as it was before its calls had results. */
function reopen(message: StoredMessage, open: ReadonlySet<string>): StoredMessage {
  if (open.size === 0 || message.role !== "assistant") return message;
  const parts = message.content.parts.map((part): MessagePart => {
    if (part.type !== "tool-invocation" || !open.has(part.toolInvocation.toolCallId)) return part;
    const { result: _, isError: __, modelOutput: ___, ...call } = part.toolInvocation;
    return { ...part, toolInvocation: { ...call, state: "call" } };
  });
  return { ...message, content: { ...message.content, parts } };
}

function toResponse(row: Omit<ResponseRow, "follows" | "deleted_at">): StoredResponse {
  return {
    id: row.id,
    threadId: row.thread_id,
    resourceId: row.resource_id,
    agentId: row.agent_id,
    ...(typeof row.previous_id === "string" && { previousId: row.previous_id }),
    createdAt: new Date(row.created_at),
  };
}
