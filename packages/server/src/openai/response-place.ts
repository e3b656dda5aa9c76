import { AgentError } from "@selvedge/core";
import type { Storage } from "@selvedge/core/storage";
import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { type Call, ownerOf } from "../handler.ts";
import type { RunPlace } from "../handlers/agent-handlers.ts";
import { threadDomain } from "../thread-domain.ts";
import {
  checkOver,
  findResponse,
  type Found,
  hasBegun,
  historyOf,
  noResponse,
  responsesOf,
  storageFor,
  toResponseId,
} from "./stored-responses.ts";

/** How many messages back a client may answer calls: as many as a run reads. */
const CALLS_BACK = 20;

type ResponseCall = Pick<Call<"responses">, "app" | "body" | "threadId" | "resourceId">;

/** Where a response is made: on a conversation, on a thread that its id will name, or without one. */
interface Place {
  threadId: string | undefined;
  isStored: boolean;
  /** The calls that its input may answer, by id. */
  calls: ReadonlyMap<string, ToolInvocation>;
  run<Reader>(start: (inner: RunPlace) => Promise<Reader>): Promise<Reader>;
}

export async function toPlace(call: ResponseCall): Promise<Place> {
  const { app, body } = call;
  const { conversation, previous_response_id: previousId, model, store } = body;
  const isKept = store !== false;
  if (conversation) {
    if (previousId)
      throw new AgentError("invalid-argument", "Pass conversation or previous_response_id, not both.");
    const inner: RunPlace = isKept ? {} : { readOnly: true };
    const calls = await callsOf(call, undefined);
    return { threadId: call.threadId, isStored: false, calls, run: (start) => start(inner) };
  }
  const agent = app.agent(model);
  const previous = previousId ? await requirePrevious(call, previousId) : undefined;
  const storage = isKept ? await storageFor(app, agent.id) : undefined;
  if (!storage) {
    const history = previous && (await historyOf(previous, await agent.getMemory()));
    const calls = await callsOf(call, previous);
    return { threadId: undefined, isStored: false, calls, run: (start) => start({ history }) };
  }
  return stored(call, storage, previous);
}

async function stored(call: ResponseCall, storage: Storage, previous: Found | undefined): Promise<Place> {
  const { app, body } = call;
  const agent = app.agent(body.model);
  if (previous && previous.storage !== storage)
    throw new AgentError(
      "invalid-argument",
      `Agent "${agent.id}" uses another store than the agent that created "${previous.response.id}". Pass store: false.`,
    );
  const responses = await responsesOf(storage);
  const runId = app.system.newId();
  const calls = await callsOf(call, previous);
  const response = await responses.beginResponse({
    id: toResponseId(runId),
    resourceId: ownerOf(call) ?? "local",
    agentId: agent.id,
    previous: previous?.response,
    // A call that has a result keeps it.
    answered: answeredCalls(body.input).filter((id) => calls.get(id)?.state === "call"),
  });
  return {
    threadId: response.threadId,
    isStored: true,
    calls,
    run: async (start) => {
      try {
        return await start({ runId });
      } catch (error) {
        // A refused request leaves nothing behind.
        if (!(await hasBegun(storage, runId))) {
          await responses.forgetResponse(response);
          const isOwnThread = response.threadId !== previous?.response.threadId;
          if (isOwnThread) await (await threadDomain(storage)).deleteThread(response);
        }
        throw error;
      }
    },
  };
}

async function requirePrevious({ app, resourceId }: ResponseCall, id: string): Promise<Found> {
  const found = await findResponse(app, id);
  if (!found || found.response.resourceId !== resourceId) throw noResponse(id);
  await checkOver(found);
  return found;
}

async function callsOf(
  { app, body, threadId }: ResponseCall,
  previous: Found | undefined,
): Promise<Map<string, ToolInvocation>> {
  const calls = new Map<string, ToolInvocation>();
  if (answeredCalls(body.input).length === 0) return calls;
  for (const { content } of await recent())
    for (const part of content.parts)
      if (part.type === "tool-invocation") calls.set(part.toolInvocation.toolCallId, part.toolInvocation);
  return calls;

  async function recent(): Promise<StoredMessage[]> {
    if (previous)
      return (await responsesOf(previous.storage)).listMessagesUntil(previous.response, CALLS_BACK);
    if (threadId === undefined) return [];
    const domain = await threadDomain(await app.agent(body.model).getThreadStorage());
    return domain.recentMessages({ threadId, limit: CALLS_BACK });
  }
}

function answeredCalls(input: ResponseCall["body"]["input"]): string[] {
  if (typeof input === "string") return [];
  return input.flatMap(({ type, call_id: id }) =>
    type === "function_call_output" && typeof id === "string" ? [id] : [],
  );
}
