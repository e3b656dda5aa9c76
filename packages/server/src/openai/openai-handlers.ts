import { type Agent, AgentError } from "@selvedge/core";
import type { RunOutput } from "@selvedge/core/agent";
import type { AgentChunk } from "@selvedge/protocol";
import type { App } from "../app.ts";
import { type Call, type Handlers, ownerOf, type Tagged } from "../handler.ts";
import { type RunPlace, startRun } from "../handlers/agent-handlers.ts";
import { type RunReader, withReader } from "../handlers/run-answers.ts";
import { dataFrame } from "../sse/frames.ts";
import { isLast } from "../sse/run-events.ts";
import { ChatCompletion, errorObject } from "./chat-completion.ts";
import { resolveReferences } from "./item-references.ts";
import { checkForm, fromChatMessages, fromResponseInput, toOptions } from "./openai-input.ts";
import { ResponseBuilder } from "./response.ts";
import { toPlace } from "./response-place.ts";
import { deleteResponse, findResponse, type Found, noResponse, readResponse } from "./stored-responses.ts";

type Json = Record<string, unknown>;

/** OpenAI's endpoints, with an agent's id as `model`. The agent's own tools run here and are not shown. */
export const OPENAI_HANDLERS: Handlers<Tagged<"openai">> = {
  listModels: async ({ app }) => ({
    object: "list",
    data: (Object.values(app.mastra.listAgents()) as Agent[]).map(toModel),
  }),
  getModel: async ({ app, params }) => toModel(app.agent(params.modelId)),
  chatCompletions: async (call) => {
    const { app, body } = call;
    const raw = body as object as Json;
    checkForm(raw);
    const reader = await run(call, body.model, fromChatMessages(body.messages), undefined);
    const { include_usage: includeUsage } = Object(raw["stream_options"]) as { include_usage?: unknown };
    const form = new ChatCompletion({
      id: reader.output.runId,
      model: body.model,
      created: seconds(app),
      includeUsage: includeUsage === true,
    });
    return body.stream === true ? streamed(call, reader, form) : whole(call, reader, form);
  },
  responses: async (asked) => {
    const { app } = asked;
    checkForm(asked.body as object as Json);
    const input = await resolveReferences(asked);
    const body = { ...asked.body, input };
    const call = { ...asked, body };
    const place = await toPlace(call);
    const { previous_response_id: previous } = body;
    const reader = await place.run(async (inner) =>
      run(call, body.model, fromResponseInput(input, place.calls), place.threadId, inner),
    );
    const { runId } = reader.output;
    const isReferable = !place.isStored && body.store !== false;
    const form = new ResponseBuilder({
      id: runId,
      model: body.model,
      created: seconds(app),
      conversation: body.conversation ? call.threadId : undefined,
      previous: previous ?? undefined,
      store: place.isStored,
      onOutput: isReferable ? (items) => app.keptItems.keep(runId, ownerOf(call), items) : undefined,
    });
    return body.stream === true ? streamed(call, reader, form) : whole(call, reader, form);
  },
  getResponse: async ({ app, caller, params }) =>
    readResponse(await requireResponse(app, params.responseId), caller),
  deleteResponse: async ({ app, params }) => {
    const { responseId: id } = params;
    await deleteResponse(await requireResponse(app, id, true), app);
    return { id, object: "response", deleted: true };
  },
};

function toModel({ id }: { id: string }): Json {
  return { id, object: "model", created: 0, owned_by: "selvedge" };
}

type Form = ChatCompletion | ResponseBuilder;

function run(
  call: Pick<Call, "app" | "caller" | "resourceId"> & { body: object },
  agentId: string,
  messages: readonly (string | Json)[],
  threadId: string | undefined,
  inner?: RunPlace,
): ReturnType<typeof startRun> {
  const { app, caller } = call;
  const options = toOptions(call.body as Json, caller);
  const body = { messages: [...messages], ...options };
  const resourceId = ownerOf(call) ?? "local";
  return startRun({ app, caller, params: { agentId }, body, threadId, resourceId }, inner);
}

async function whole(
  call: Pick<Call, "app" | "caller" | "request">,
  reader: RunReader & { output: RunOutput },
  form: Form,
): Promise<Json> {
  const show = call.app.shownTo(call.caller);
  await withReader(call.request, reader, async () => {
    for (;;) {
      const chunks = await reader.next();
      if (chunks.length === 0) break;
      for (const chunk of chunks) form.add(show(chunk));
    }
    await settle(reader, form);
  });
  const { failure } = form;
  if (failure === undefined) return form.whole();
  const { message, code } = Object(failure) as { message?: string; code?: never };
  throw AgentError.is(failure) ? failure : new AgentError(code ?? "internal", message ?? "The run failed.");
}

/** A run that continued in another process has no result here, so the streamed output is used. */
async function settle({ output }: { output: RunOutput }, form: Form): Promise<void> {
  const steps = form.failure === undefined ? await output.steps.catch(() => undefined) : undefined;
  if (steps) form.settle(steps);
}

function streamed(
  call: Pick<Call, "app" | "caller" | "request">,
  reader: RunReader & { output: RunOutput },
  form: Form,
): Response {
  const isChat = form instanceof ChatCompletion;
  const show = call.app.shownTo(call.caller);
  let done = false;
  const frames = (chunks: readonly AgentChunk[]) => chunks.map((chunk) => form.frames(show(chunk))).join("");
  return call.app.stream(
    call,
    {
      next: async () => {
        for (;;) {
          const chunks = await reader.next();
          const text = frames(chunks);
          // Later requests see the result, not what was streamed.
          if (chunks.some(isLast)) void settle(reader, form);
          if (text !== "") return text;
          if (chunks.length > 0) continue;
          if (done || !isChat) return undefined;
          done = true;
          return "data: [DONE]\n\n";
        }
      },
      leave: () => reader.leave(),
      farewell: (error) => dataFrame({ error: errorObject(error) }),
    },
    "",
  );
}

/** Its owner was checked before; it may have been deleted since. */
async function requireResponse(app: App, id: string, toDelete = false): Promise<Found> {
  const found = await findResponse(app, id, toDelete);
  if (found) return found;
  throw noResponse(id);
}

function seconds(app: App): number {
  return Math.trunc(app.system.now() / 1000);
}
