import { routesOf } from "./route.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  list,
  named,
  nothing,
  object,
  openObject,
  optional,
  text,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const aiSdk = routesOf("ai-sdk");
const openai = routesOf("openai");

/** The error response of the routes under `/v1`. */
export const openAIErrorBody = named(
  "OpenAIError",
  openObject({
    error: openObject({
      message: text(),
      type: text(),
      code: shapes.errorCode,
      param: nothing(),
    }),
  }),
);

/** Routes in the formats of other clients. */
export const COMPAT_ROUTES = {
  chat: aiSdk("POST /api/agents/:agentId/chat", {
    summary: "The UI message stream of the AI SDK: the endpoint of useChat",
    owner: "new-thread",
    startsRun: true,
    threadAt: ["body.id"],
    body: openObject({
      id: id("The thread"),
      messages: list(anyObject()),
      trigger: optional(text({ maxLength: 256 })),
      messageId: optional(text({ maxLength: 256 })),
      resourceId: optional(shapes.resourceId),
    }),
    event: anything(),
    events: "ui-message",
  }),
  resumeChat: aiSdk("GET /api/agents/:agentId/chat/:threadId/stream", {
    summary: "The active answer of a chat, from its start, or 204 if there is none",
    owner: "new-thread",
    query: object({ ...shapes.threadQuery }),
    event: anything(),
    events: "ui-message",
  }),
  listModels: openai("GET /v1/models", {
    summary: "Agents as models",
    owner: "app",
    response: openObject({
      object: text(),
      data: list(anyObject()),
    }),
  }),
  getModel: openai("GET /v1/models/:modelId", {
    summary: "An agent as a model",
    owner: "app",
    response: anyObject(),
  }),
  chatCompletions: openai("POST /v1/chat/completions", {
    summary: "OpenAI's chat completions, with an agent's id as model. With stream: true, server-sent events",
    owner: "resource",
    startsRun: true,
    body: openObject({
      model: id(),
      messages: list(anyObject()),
      stream: optional(either(flag(), nothing())),
    }),
    response: anyObject(),
    events: "openai",
  }),
  responses: openai("POST /v1/responses", {
    summary:
      "OpenAI's responses, with an agent's id as model. conversation is a thread; previous_response_id continues a response",
    owner: "new-thread",
    startsRun: true,
    threadAt: ["body.conversation.id", "body.conversation"],
    body: openObject({
      model: id(),
      input: either(text(), list(anyObject())),
      conversation: optional(either(id(), openObject({ id: id() }), nothing())),
      previous_response_id: optional(either(id(), nothing())),
      store: optional(either(flag(), nothing())),
      instructions: optional(either(text(), nothing())),
      stream: optional(either(flag(), nothing())),
    }),
    response: anyObject(),
    events: "openai",
  }),
  getResponse: openai("GET /v1/responses/:responseId", {
    summary: "A stored response",
    owner: "response",
    response: anyObject(),
  }),
  deleteResponse: openai("DELETE /v1/responses/:responseId", {
    summary: "Deletes a response. What later ones build on stays until they are deleted",
    owner: "response",
    response: openObject({
      id: text(),
      object: text(),
      deleted: flag(),
    }),
  }),
};
