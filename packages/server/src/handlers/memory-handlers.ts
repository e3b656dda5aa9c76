import { AgentError } from "@selvedge/core";
import type { MastraMemory, MemoryConfig } from "@selvedge/core/memory";
import { type ThreadDomain, noThread, type Storage } from "@selvedge/core/storage";
import { ownerOfThread } from "@selvedge/core/threads";
import {
  isObject,
  MESSAGE_ROLES,
  showValue,
  type StoredMessage,
  type StoredThread,
} from "@selvedge/protocol";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import { admitContents } from "../admit-contents.ts";
import { checkMetadata } from "../check-metadata.ts";
import { type Answer, type Handlers, ownerOf, type Tagged } from "../handler.ts";
import { safeMessage } from "@selvedge/core/guards";
import { requireStorage, threadDomain } from "../thread-domain.ts";
import { toNames } from "../to-names.ts";
import { searchMessages } from "./search-messages.ts";
import type { ThreadRoute } from "./thread-handlers.ts";

/** Optional methods of a memory. `Memory` of `@selvedge/memory` implements all of them. */
interface FullMemory extends MastraMemory {
  createThread(options: object): Promise<StoredThread>;
  deleteThread(target: { threadId: string; resourceId?: string | undefined }): Promise<void>;
  saveMessages(options: object): Promise<{ messages: StoredMessage[] }>;
  deleteMessages(ids: readonly string[], options: { resourceId?: string | undefined }): Promise<void>;
  cloneThread(options: object): Promise<{ thread: StoredThread; clonedMessages: StoredMessage[] }>;
  getWorkingMemory(address: object): Promise<string | null>;
  updateWorkingMemory(update: object): Promise<void>;
  getMergedThreadConfig(): SetMemoryConfig;
  readonly observationalMemory?: {
    describe(options: { instructions: boolean }): Record<string, unknown>;
    waitForBuffering(threadId: string, resourceId: string): Promise<boolean>;
    inspect(thread: { threadId: string }): Promise<OmView>;
    generations(thread: { threadId: string }): Promise<Generations>;
    observe(thread: { threadId: string }): Promise<boolean>;
    retry(thread: { threadId: string }): Promise<void>;
    clear(threadId: string): Promise<void>;
  };
}

type OmView = NonNullable<Answer<"inspectObservationalMemory">["view"]>;
type Generations = Answer<"listObservationalGenerations">["generations"];

/** A configuration with its defaults filled in. */
type SetMemoryConfig = Omit<Answer<"memoryConfig">["config"], "threads"> & Pick<MemoryConfig, "threads">;

const PER_PAGE = 40;
const THREADS_PER_PAGE = 100;
/** Messages per response, or per clone. */
const MOST_BYTES = 64 << 20;

export const MEMORY_HANDLERS: Handlers<Exclude<Tagged<"memory">, ThreadRoute>> = {
  memoryStatus: async ({ app, query }) => {
    const memory = await app.memory(query.agentId).catch((error: unknown) => {
      if (AgentError.is(error, "memory-required")) return undefined;
      throw error;
    });
    return { result: memory !== undefined };
  },
  memoryConfig: async ({ app, query, caller }) => {
    const memory = (await app.memory(query.agentId)) as Partial<FullMemory>;
    if (!memory.getMergedThreadConfig)
      throw new AgentError("not-supported", "This memory does not expose its configuration.");
    const { lastMessages, semanticRecall, workingMemory, threads, readOnly } = memory.getMergedThreadConfig();
    const { enabled, scope, template } = workingMemory;
    // Models, schemas and functions stay here. Instruction texts are only for callers who may see the agent's
    // instructions.
    const instructions = caller.has("inspect");
    const told = instructions && template !== undefined ? { template } : {};
    return {
      config: {
        lastMessages,
        semanticRecall,
        workingMemory: { enabled, ...(enabled && { scope, ...told }) },
        threads: { generateTitle: !!threads?.generateTitle },
        ...(memory.observationalMemory && {
          observationalMemory: memory.observationalMemory.describe({ instructions }),
        }),
        readOnly,
      },
    };
  },
  listThreads: async ({ app, query, resourceId, caller }) => {
    const domain = await domainOf(app, query.agentId);
    const { search, page = 0, perPage = THREADS_PER_PAGE } = query;
    const field = query.orderBy ?? query["orderBy[field]"] ?? "updatedAt";
    const direction = query.direction ?? query["orderBy[direction]"] ?? "DESC";
    const list = () =>
      domain.listThreads({
        filter: { resourceId, text: search, metadata: toMetadata(query.metadata) },
        includeSubagents: query.includeSubagents,
        orderBy: { field, direction },
        page,
        perPage,
      });
    const { threads, ...rest } = await (search ? app.searches.take(caller.resourceId, list) : list());
    return { ...rest, threads };
  },
  createThread: async (call) => {
    const { threadId, title, metadata } = call.body;
    checkMetadata(call.caller, metadata);
    const memory = await fullMemory(call.app, call.query.agentId, "createThread");
    return memory.createThread({ resourceId: ownerOf(call), threadId, title, metadata });
  },
  getThread: async (call) => {
    const domain = await domainOf(call.app, call.query.agentId);
    return requireThread(domain, call.params.threadId);
  },
  updateThread: async ({ app, caller, params, query, body }) => {
    const domain = await domainOf(app, query.agentId);
    const thread = await requireThread(domain, params.threadId);
    const { title, metadata } = body;
    checkMetadata(caller, metadata, thread.metadata);
    return domain.updateThread({ id: params.threadId, title, metadata });
  },
  deleteThread: async (call) => {
    const { threadId } = call.params;
    const memory = await fullMemory(call.app, call.query.agentId, "deleteThread");
    await memory.deleteThread({ threadId });
    return { result: `Thread "${threadId}" is deleted.` };
  },
  listMessages: async (call) => {
    const { params, query } = call;
    const domain = await domainOf(call.app, query.agentId);
    const { page, perPage = PER_PAGE, direction, roles } = query;
    const { messages, ...rest } = await domain.listMessages({
      threadId: params.threadId,
      page,
      perPage,
      maxBytes: MOST_BYTES,
      orderBy: { direction: direction ?? "DESC" },
      ...(roles !== undefined && { filter: { roles: toNames("query.roles", roles, MESSAGE_ROLES) } }),
    });
    const inOrder = direction === undefined ? messages.toReversed() : messages;
    return { ...rest, messages: shown(call.caller, inOrder) };
  },
  saveMessages: async (call) => {
    const { app, query, body, resourceId } = call;
    const memory = await fullMemory(app, query.agentId, "saveMessages");
    const given = await admitContents(call, body.messages);
    return memory.saveMessages({ messages: given, resourceId });
  },
  deleteMessages: async ({ app, query, body, resourceId }) => {
    const memory = await fullMemory(app, query.agentId, "deleteMessages");
    await memory.deleteMessages(body.messageIds, { resourceId });
    return { success: true, message: "The messages are deleted." };
  },
  cloneThread: async (call) => {
    const { newThreadId, title, metadata, options } = call.body;
    checkMetadata(call.caller, metadata);
    const memory = await fullMemory(call.app, call.query.agentId, "cloneThread");
    if (newThreadId !== undefined) await checkUnused(memory.storage, newThreadId, call.caller);
    const { startDate, endDate, messageIds } = options?.messageFilter ?? {};
    const messageFilter = {
      ...(startDate !== undefined && { startDate: new Date(startDate) }),
      ...(endDate !== undefined && { endDate: new Date(endDate) }),
      ...(messageIds && { messageIds }),
    };
    const result = await memory.cloneThread({
      sourceThreadId: call.params.threadId,
      sourceResourceId: ownerOf(call),
      resourceId: ownerOf(call),
      newThreadId,
      title,
      metadata,
      options: { messageLimit: options?.messageLimit, messageFilter, maxBytes: MOST_BYTES },
    });
    return { ...result, clonedMessages: shown(call.caller, result.clonedMessages) };
  },
  getWorkingMemory: async (call) => {
    const memory = await fullMemory(call.app, call.query.agentId, "getWorkingMemory");
    const address = { threadId: call.params.threadId, resourceId: ownerOf(call) };
    return { workingMemory: await memory.getWorkingMemory(address) };
  },
  updateWorkingMemory: async (call) => {
    const memory = await fullMemory(call.app, call.query.agentId, "updateWorkingMemory");
    const { workingMemory } = call.body;
    await memory.updateWorkingMemory({
      threadId: call.params.threadId,
      resourceId: ownerOf(call),
      workingMemory,
    });
    return { success: true };
  },
  getObservationalMemory: async ({ app, query, resourceId }) => {
    const { threadId, from, to, offset, limit } = query;
    const domain = await domainOf(app, query.agentId);
    const owner = await ownerOfLog(app, query.agentId, threadId, resourceId);
    const record = await domain.getObservationalMemory(threadId ?? null, owner);
    if (limit === undefined) return { record };
    const range = { offset, from: toDate("from", from), to: toDate("to", to) };
    const history = await domain.getObservationalMemoryHistory(threadId ?? null, owner, limit, range);
    return { record, history };
  },
  observationalMemoryBufferStatus: async ({ app, body, resourceId }) => {
    const { agentId, threadId } = body;
    const owner = await ownerOfLog(app, agentId, threadId, resourceId);
    const memory = (await app.memory(agentId)) as Partial<FullMemory>;
    if (threadId !== undefined) await memory.observationalMemory?.waitForBuffering(threadId, owner);
    const domain = await domainOf(app, agentId);
    return { record: await domain.getObservationalMemory(threadId ?? null, owner) };
  },
  inspectObservationalMemory: async ({ app, query, params, caller }) => {
    const memory = (await app.memory(query.agentId)) as Partial<FullMemory>;
    const view = await memory.observationalMemory?.inspect(params);
    if (!view) return { view: null };
    return { view: caller.has("inspect") ? view : { ...view, jobs: view.jobs.map(withoutCause) } };
  },
  workOnObservationalMemory: async ({ app, query, params, body }) => {
    const engine = await observationalMemory(app, query.agentId);
    await engine[body.action](params);
    return { done: true };
  },
  forgetObservationalMemory: async ({ app, query, params }) => {
    await (await observationalMemory(app, query.agentId)).clear(params.threadId);
    return { forgotten: true };
  },
  listObservationalGenerations: async ({ app, query, params }) => ({
    generations: await (await observationalMemory(app, query.agentId)).generations(params),
  }),
  searchMemory: async ({ app, query, resourceId, caller, request: { signal } }) => {
    const memory = await app.memory(query.agentId);
    const domain = await domainOf(app, query.agentId);
    const { searchQuery, threadId, limit = 20 } = query;
    const search = { text: searchQuery, threadId, resourceId, limit, signal };
    const results = await app.searches.take(caller.resourceId, () => searchMessages(domain, memory, search));
    const messages = shown(
      caller,
      results.map(({ message }) => message),
    );
    return {
      results: results.map((found, index) => ({ ...found, message: messages[index]! })),
      count: results.length,
    };
  },
};

/** The owner of the log. A thread of another resource counts as absent. */
async function ownerOfLog(
  app: App,
  agentId: string | undefined,
  threadId: string | undefined,
  resourceId: string | undefined,
): Promise<string> {
  if (threadId !== undefined) {
    const owner = await ownerOfThread(requireStorage(await app.storage(agentId)), threadId);
    if (owner === undefined || (resourceId !== undefined && owner !== resourceId)) throw noThread(threadId);
    return owner;
  }
  if (resourceId !== undefined) return resourceId;
  throw new AgentError("invalid-argument", "Pass a threadId or a resourceId.");
}

async function observationalMemory(
  app: App,
  agentId: string | undefined,
): Promise<NonNullable<FullMemory["observationalMemory"]>> {
  const memory = (await app.memory(agentId)) as Partial<FullMemory>;
  if (memory.observationalMemory) return memory.observationalMemory;
  throw new AgentError("not-supported", "Observational memory is off. Turn it on in the options of Memory.");
}

function withoutCause(job: OmView["jobs"][number]): OmView["jobs"][number] {
  return job.error === undefined ? job : { ...job, error: "The model failed" };
}

function toDate(name: string, value: string | undefined): Date | undefined {
  if (value === undefined) return undefined;
  const date = new Date(value);
  if (!Number.isNaN(date.getTime())) return date;
  throw new AgentError("invalid-argument", `${name} must be a date, got ${JSON.stringify(value)}.`);
}

function shown(caller: Principal, messages: readonly StoredMessage[]): readonly StoredMessage[] {
  return caller.has("inspect") ? messages : messages.map(safeMessage);
}

async function domainOf(app: App, agentName: string | undefined): Promise<ThreadDomain> {
  return threadDomain(await app.storage(agentName));
}

/**
 * A thread id that is taken. If another owner has it, the response is the same as on any other route that creates a
 * thread.
 */
async function checkUnused(storage: Storage | undefined, threadId: string, caller: Principal): Promise<void> {
  const owner = storage && (await ownerOfThread(storage, threadId));
  if (owner === undefined) return;
  throw caller.isTrusted || owner === caller.resourceId
    ? new AgentError("conflict", `There is already a thread "${threadId}".`)
    : noThread(threadId);
}

async function requireThread(domain: ThreadDomain, threadId: string): Promise<StoredThread> {
  const thread = await domain.getThreadById({ threadId });
  if (thread) return thread;
  throw noThread(threadId);
}

async function fullMemory(
  app: App,
  agentName: string | undefined,
  method: Exclude<keyof FullMemory, keyof MastraMemory>,
): Promise<FullMemory> {
  const memory = (await app.memory(agentName)) as Partial<FullMemory>;
  if (typeof memory[method] === "function") return memory as FullMemory;
  throw new AgentError("not-supported", `The memory of this app has no ${method}().`);
}

type Scalar = string | number | boolean | null;

function toMetadata(json: string | undefined): Record<string, Scalar> | undefined {
  if (json === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(json);
    if (isObject(value) && Object.values(value).every((item) => typeof item !== "object" || item === null))
      return value as Record<string, Scalar>;
  } catch {
    // Reported below.
  }
  throw new AgentError(
    "invalid-argument",
    `query.metadata must be a JSON object of plain values, got ${showValue(json)}.`,
  );
}
