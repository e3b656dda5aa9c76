import type { CallResult } from "./call.ts";
import { call } from "./call.ts";
import type { RouteCalls, ThreadQuery } from "@selvedge/protocol/routes";
import type { RequestInput, Transport } from "./transport.ts";

type Body<Name extends keyof RouteCalls> = RouteCalls[Name] extends { body: infer Type } ? Type : never;
type Query<Name extends keyof RouteCalls> = RouteCalls[Name] extends { query: infer Type } ? Type : never;

/** A thread in a server's memory. `agentId` selects the memory if agents have different ones. */
export class MemoryThread {
  readonly threadId: string;
  readonly #transport: Transport;
  readonly #where: ThreadQuery;

  constructor(transport: Transport, { threadId, ...where }: ThreadQuery & { threadId: string }) {
    this.#transport = transport;
    this.threadId = threadId;
    this.#where = where;
  }

  get(): Promise<CallResult<"getThread">> {
    return this.#call("getThread", {});
  }

  update(body: Body<"updateThread">): Promise<CallResult<"updateThread">> {
    return this.#call("updateThread", { body });
  }

  delete(): Promise<CallResult<"deleteThread">> {
    return this.#call("deleteThread", {});
  }

  /** A page of messages: the newest, oldest first, unless the query says otherwise. */
  listMessages(query: Query<"listMessages"> = {}): Promise<CallResult<"listMessages">> {
    return this.#call("listMessages", { query });
  }

  deleteMessages(messageIds: string | string[]): Promise<CallResult<"deleteMessages">> {
    const { agentId, resourceId } = this.#where;
    return call(this.#transport, "deleteMessages", {
      query: agentId === undefined ? {} : { agentId },
      body: { messageIds: [messageIds].flat(), ...(resourceId !== undefined && { resourceId }) },
    });
  }

  clone(body: Body<"cloneThread"> = {}): Promise<CallResult<"cloneThread">> {
    return this.#call("cloneThread", { body, query: { resourceId: undefined } });
  }

  getWorkingMemory(): Promise<CallResult<"getWorkingMemory">> {
    return this.#call("getWorkingMemory", {});
  }

  updateWorkingMemory(workingMemory: string): Promise<CallResult<"updateWorkingMemory">> {
    const { resourceId } = this.#where;
    return this.#call("updateWorkingMemory", {
      body: { workingMemory, ...(resourceId !== undefined && { resourceId }) },
      query: { resourceId: undefined },
    });
  }

  /** The current activity: active run, queue, state lanes, waiting calls, and where to subscribe from. */
  state(): Promise<CallResult<"getThreadState">> {
    return this.#call("getThreadState", {});
  }

  /** Accepted messages that wait for their turn. */
  listQueue(): Promise<CallResult<"listQueue">> {
    return this.#call("listQueue", {});
  }

  editQueued(messageId: string, body: Body<"editQueued">): Promise<CallResult<"editQueued">> {
    return this.#call("editQueued", { params: { messageId }, body });
  }

  removeQueued(messageId: string): Promise<CallResult<"removeQueued">> {
    return this.#call("removeQueued", { params: { messageId } });
  }

  listRuns(query: Query<"listRuns"> = {}): Promise<CallResult<"listRuns">> {
    return this.#call("listRuns", { query });
  }

  /** A run with its steps, tokens and durations. */
  getRun(runId: string): Promise<CallResult<"getRun">> {
    return this.#call("getRun", { params: { runId } });
  }

  listNotifications(query: Query<"listNotifications"> = {}): Promise<CallResult<"listNotifications">> {
    return this.#call("listNotifications", { query });
  }

  updateNotification(
    notificationId: string,
    action: Body<"updateNotification">["action"],
  ): Promise<CallResult<"updateNotification">> {
    return this.#call("updateNotification", { params: { notificationId }, body: { action } });
  }

  #call<Name extends keyof RouteCalls>(name: Name, input: RequestInput): Promise<CallResult<Name>> {
    return call(this.#transport, name, {
      ...input,
      params: { threadId: this.threadId, ...input.params },
      query: { ...this.#where, ...input.query },
    });
  }
}
