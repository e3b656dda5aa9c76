import type { ErrorCode } from "../error-codes.ts";
import { type Route, route } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  list,
  named,
  object,
  only,
  openObject,
  optional,
  type Shape,
  text,
} from "./shape.ts";
import * as shapes from "./shapes.ts";
import type * as Wire from "./wire.ts";

type AgentParams = { agentId: string };

/** What `DefaultChatTransport` of the AI SDK posts. */
export interface ChatBody {
  /** The chat is a thread. */
  id: string;
  messages: Record<string, unknown>[];
  trigger?: string;
  messageId?: string;
  resourceId?: string;
}

export interface ChatCompletionsBody {
  /** An agent's id. */
  model: string;
  messages: Record<string, unknown>[];
  stream?: boolean | null;
}

export interface ResponsesBody {
  /** An agent's id. */
  model: string;
  input: string | Record<string, unknown>[];
  /** A thread. */
  conversation?: string | { id: string } | null;
  /** Goes on from this response. */
  previous_response_id?: string | null;
  /** `false`: nothing of it is kept. */
  store?: boolean | null;
  instructions?: string | null;
  stream?: boolean | null;
}

export interface CompatCalls {
  chat: { params: AgentParams; body: ChatBody; event: unknown };
  resumeChat: { params: AgentParams & { threadId: string }; query: Wire.ThreadQuery; event: unknown };
  listModels: { response: { object: string; data: Record<string, unknown>[] } };
  getModel: { params: { modelId: string }; response: Record<string, unknown> };
  chatCompletions: { body: ChatCompletionsBody; response: Record<string, unknown> };
  responses: { body: ResponsesBody; response: Record<string, unknown> };
  getResponse: { params: { responseId: string }; response: Record<string, unknown> };
  deleteResponse: {
    params: { responseId: string };
    response: { id: string; object: string; deleted: boolean };
  };
}

/** What the routes under `/v1` answer when they fail. */
export interface OpenAIErrorBody {
  error: { message: string; type: string; code: ErrorCode; param: null };
}

export const openAIErrorBody: Shape<OpenAIErrorBody> = named(
  "OpenAIError",
  openObject<OpenAIErrorBody>({
    error: openObject<OpenAIErrorBody["error"]>({
      message: text(),
      type: text(),
      code: shapes.errorCode,
      param: only(null),
    }),
  }),
);

const params = object<AgentParams>({ agentId: id() });

/** Routes in the forms of other people's clients. */
export const COMPAT_ROUTES: { readonly [Name in keyof CompatCalls]: Route<CompatCalls[Name]> } = {
  chat: route({
    method: "POST",
    path: "/api/agents/:agentId/chat",
    tag: "ai-sdk",
    summary: "The UI message stream of the AI SDK: the endpoint of useChat",
    owner: "new-thread",
    threadAt: ["body.id"],
    params,
    body: openObject<ChatBody>({
      id: id("The thread"),
      messages: list(anyObject()),
      trigger: optional(text({ maxLength: 256 })),
      messageId: optional(text({ maxLength: 256 })),
      resourceId: optional(shapes.resourceId),
    }),
    event: anything(),
    events: "ui-message",
  }),
  resumeChat: route({
    method: "GET",
    path: "/api/agents/:agentId/chat/:threadId/stream",
    tag: "ai-sdk",
    summary: "The active answer of a chat, from its start, or 204 if there is none",
    owner: "new-thread",
    params: object<AgentParams & { threadId: string }>({ agentId: id(), threadId: id() }),
    query: object<Wire.ThreadQuery>({ ...shapes.threadQuery }),
    event: anything(),
    events: "ui-message",
  }),
  listModels: route({
    method: "GET",
    path: "/v1/models",
    tag: "openai",
    summary: "Agents as models",
    owner: "app",
    response: openObject<CompatCalls["listModels"]["response"]>({
      object: text(),
      data: list(anyObject()),
    }),
  }),
  getModel: route({
    method: "GET",
    path: "/v1/models/:modelId",
    tag: "openai",
    summary: "An agent as a model",
    owner: "app",
    params: object<{ modelId: string }>({ modelId: id() }),
    response: anyObject(),
  }),
  chatCompletions: route({
    method: "POST",
    path: "/v1/chat/completions",
    tag: "openai",
    summary: "OpenAI's chat completions, with an agent's id as model. With stream: true, server-sent events",
    owner: "resource",
    body: openObject<ChatCompletionsBody>({
      model: id(),
      messages: list(anyObject()),
      stream: optional(either<[boolean, null]>(flag(), { type: "null" })),
    }),
    response: anyObject(),
    events: "openai",
  }),
  responses: route({
    method: "POST",
    path: "/v1/responses",
    tag: "openai",
    summary:
      "OpenAI's responses, with an agent's id as model. conversation is a thread; previous_response_id continues a response",
    owner: "new-thread",
    threadAt: ["body.conversation.id", "body.conversation"],
    body: openObject<ResponsesBody>({
      model: id(),
      input: either<[string, Record<string, unknown>[]]>(text(), list(anyObject())),
      conversation: optional(
        either<[string, { id: string }, null]>(id(), openObject<{ id: string }>({ id: id() }), {
          type: "null",
        }),
      ),
      previous_response_id: optional(either<[string, null]>(id(), { type: "null" })),
      store: optional(either<[boolean, null]>(flag(), { type: "null" })),
      instructions: optional(either<[string, null]>(text(), { type: "null" })),
      stream: optional(either<[boolean, null]>(flag(), { type: "null" })),
    }),
    response: anyObject(),
    events: "openai",
  }),
  getResponse: route({
    method: "GET",
    path: "/v1/responses/:responseId",
    tag: "openai",
    summary: "A stored response",
    owner: "response",
    params: object<{ responseId: string }>({ responseId: id() }),
    response: anyObject(),
  }),
  deleteResponse: route({
    method: "DELETE",
    path: "/v1/responses/:responseId",
    tag: "openai",
    summary: "Deletes a response. What later ones build on stays until they are deleted",
    owner: "response",
    params: object<{ responseId: string }>({ responseId: id() }),
    response: openObject<CompatCalls["deleteResponse"]["response"]>({
      id: text(),
      object: text(),
      deleted: flag(),
    }),
  }),
};
