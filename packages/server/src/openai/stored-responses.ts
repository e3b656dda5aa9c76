import { AgentError } from "@selvedge/core";
import type { MastraMemory } from "@selvedge/core/memory";
import type { Storage } from "@selvedge/core/storage";
import { ownerOfRun, readRunRecord, readThreadOverview } from "@selvedge/core/threads";
import type { StoredMessage } from "@selvedge/protocol";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import { threadDomain } from "../thread-domain.ts";
import { safeRun } from "../safe-errors.ts";
import { ResponseBuilder } from "./response.ts";
import {
  RESPONSE_DOMAIN,
  type ResponseDomain,
  type ResponseRemains,
  type StoredResponse,
} from "./response-domain.ts";
import { RunCollector } from "./run-collector.ts";

type Json = Record<string, unknown>;

/** A response with its location. */
export interface Found {
  response: StoredResponse;
  storage: Storage;
}

const PREFIX = "resp_";
/** How much history a run sees if its memory sets no limit. */
const SHOWN_MESSAGES = 100;

export function toResponseId(runId: string): string {
  return `${PREFIX}${runId}`;
}

function toRunId({ id }: StoredResponse): string {
  return id.slice(PREFIX.length);
}

/** Finds a response in the app's stores; with `toDelete`, also one whose deletion was not finished. */
export async function findResponse(app: App, id: string, toDelete = false): Promise<Found | undefined> {
  const stores = new Set<Storage | undefined>();
  for (const agent of Object.values(app.mastra.listAgents())) stores.add(await storageFor(app, agent.id));
  for (const storage of stores) {
    if (!storage) continue;
    const responses = await responsesOf(storage);
    const response = await (toDelete ? responses.getDeletable(id) : responses.getResponse(id));
    if (response) return { response, storage };
  }
  return undefined;
}

/** Where an agent's responses are stored; `undefined` without a memory that stores messages. */
export async function storageFor(app: App, agentId: string): Promise<Storage | undefined> {
  try {
    await app.memory(agentId);
    return await app.agent(agentId).getThreadStorage();
  } catch (error) {
    // A memory chosen per request may be unavailable without one.
    if (AgentError.is(error) && error.code !== "memory-required") throw error;
    return undefined;
  }
}

export function noResponse(id: string): AgentError {
  return new AgentError("not-found", `There is no response "${id}".`);
}

export function responsesOf(storage: Storage): Promise<ResponseDomain> {
  return storage.domain(RESPONSE_DOMAIN);
}

/** A response in progress cannot be continued or deleted. */
export async function checkOver({ response, storage }: Found): Promise<void> {
  const overview = await readThreadOverview(storage, response.threadId);
  if (overview?.activeRunId !== toRunId(response)) return;
  throw new AgentError(
    "conflict",
    overview.runState === "suspended"
      ? `Response "${response.id}" is waiting for a tool call to be approved.`
      : `Response "${response.id}" is still in progress.`,
  );
}

/** The history, for a run that stores nothing. */
export async function historyOf(
  { response, storage }: Found,
  memory: MastraMemory | undefined,
): Promise<StoredMessage[]> {
  const { lastMessages } =
    (memory as { getMergedThreadConfig?: () => { lastMessages?: unknown } })?.getMergedThreadConfig?.() ?? {};
  const limit = typeof lastMessages === "number" ? lastMessages : SHOWN_MESSAGES;
  return limit > 0 ? (await responsesOf(storage)).listMessagesUntil(response, limit) : [];
}

/** A stored response in OpenAI's form. */
export async function readResponse({ response, storage }: Found, caller: Principal): Promise<Json> {
  const { threadId, agentId, previousId, createdAt } = response;
  const runId = toRunId(response);
  const [messages, record] = await Promise.all([
    (await responsesOf(storage)).listResponseMessages(response),
    readRunRecord(storage, { threadId, runId }),
  ]);
  const run = new RunCollector();
  for (const message of messages) if (isOutput(message)) collect(run, message);
  run.usage = record?.usage;
  if (record?.state === "failed")
    run.failure = (caller.has("inspect") ? record : safeRun(record)).error ?? {};
  const form = new ResponseBuilder(
    {
      id: runId,
      model: agentId,
      created: Math.trunc(createdAt.getTime() / 1000),
      conversation: undefined,
      previous: previousId,
      store: true,
    },
    run,
  );
  const isOpen = record?.state === "running" || record?.state === "suspended";
  const status = isOpen ? "in_progress" : record?.state === "aborted" ? "cancelled" : undefined;
  return { ...form.whole(), ...(status !== undefined && { status }) };
}

/** Deletes a response and what is no longer needed without it. */
export async function deleteResponse(found: Found, app: App): Promise<void> {
  const { response, storage } = found;
  await checkOver(found);
  const agent = Object.values(app.mastra.listAgents()).find(({ id }) => id === response.agentId);
  const memory = (await agent?.getMemory()) as Partial<Deleting> | undefined;
  const domain = await threadDomain(storage);
  const { threadId, resourceId } = response;
  await (
    await responsesOf(storage)
  ).deleteResponse(response, async (remains: ResponseRemains) => {
    // The memory also removes the messages from its index.
    if (remains.kind === "messages") {
      if (memory?.deleteMessages) await memory.deleteMessages(remains.messageIds, { resourceId });
      else await domain.deleteMessages(remains.messageIds);
    } else if (memory?.deleteThread && (await domain.getThreadById({ threadId })))
      await memory.deleteThread({ threadId, resourceId });
    else await domain.deleteThread({ threadId });
  });
}

/** True while a run with this id is on a thread: its response is worth keeping. */
export async function hasBegun(storage: Storage, runId: string): Promise<boolean> {
  return (await ownerOfRun(storage, runId)) !== undefined;
}

interface Deleting {
  deleteMessages(ids: readonly string[], options: { resourceId: string }): Promise<void>;
  deleteThread(address: { threadId: string; resourceId: string }): Promise<void>;
}

/** Whether the model said it here. Assistant messages from the client are part of the input. */
function isOutput({ role, content }: StoredMessage): boolean {
  return role === "assistant" && content.parts.some(({ type }) => type === "step-start");
}

function collect(run: RunCollector, { content }: StoredMessage): void {
  for (const part of content.parts) {
    if (part.type === "text") run.text += part.text;
    if (part.type === "tool-invocation" && part.toolInvocation.state === "call") {
      const { toolCallId, toolName, args } = part.toolInvocation;
      run.calls.push({ toolCallId, toolName, args } as RunCollector["calls"][number]);
    }
  }
}
