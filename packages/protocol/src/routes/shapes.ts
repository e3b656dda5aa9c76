import type { AgentChunk } from "../chunk.ts";
import { ERROR_CODES, type ErrorCode } from "../error-codes.ts";
import { MESSAGE_ROLES, type MessageContent } from "../message.ts";
import { NOTIFICATION_PRIORITIES, NOTIFICATION_STATUSES } from "../notification.ts";
import { SIGNAL_TYPES } from "../signal-type.ts";
import { FINISH_REASONS, type Usage } from "../usage.ts";
import {
  anyObject,
  anything,
  either,
  flag,
  id,
  integer,
  json,
  list,
  named,
  number,
  object,
  objectLike,
  oneOf,
  only,
  openObject,
  optional,
  record,
  type Shape,
  text,
  time,
} from "./shape.ts";

/* Shapes that several routes share. */

const MAX_PARTS = 1000;
const LONG = 8192;

export const metadata = anyObject();
const jsonSchema = anyObject("A JSON Schema");
export const providerOptions = record(record(json()));
export const attributes = record(json());
export const resourceId = id("The server's `authorize` function decides it, if there is one.");
export const priority = oneOf(...NOTIFICATION_PRIORITIES);

export const finishReason = oneOf(...FINISH_REASONS);
export const usage = objectLike<Usage>();

export const errorCode = oneOf(...(Object.keys(ERROR_CODES) as ErrorCode[]));

/** The error response of every route, under the status of its code. */
export const errorBody = named(
  "Error",
  openObject({
    error: text(),
    name: text(),
    code: errorCode,
    message: text(),
    details: optional(anyObject()),
  }),
);

export const textPart = object({
  type: only("text"),
  text: text(),
  providerOptions: optional(providerOptions),
});

export const filePart = object({
  type: only("file"),
  /** Base64, a data URL or a URL. */
  data: text({ description: "Base64, a data URL or a URL" }),
  mediaType: text({ maxLength: 256 }),
  filename: optional(text({ maxLength: 1024 })),
  providerOptions: optional(providerOptions),
});

export const contents = named(
  "Contents",
  either(text(), list(either(textPart, filePart), { maxItems: MAX_PARTS })),
);

export const messageBody = object({
  contents,
  attributes: optional(attributes),
  metadata: optional(metadata),
  providerOptions: optional(providerOptions),
  /** The message's id. A client that shows the message before it is accepted identifies it by this. */
  id: optional(id()),
});

export const message = either(contents, messageBody);

export const clientTool = openObject({
  id: optional(id()),
  description: optional(text()),
  inputSchema: optional(jsonSchema),
  /** An older name of `inputSchema`. */
  parameters: optional(jsonSchema),
  outputSchema: optional(jsonSchema),
});

export const toolChoice = either(
  oneOf("auto", "none", "required"),
  object({ type: only("tool"), toolName: id() }),
);

/** The run options a request may carry. Core's option table says which of them need the grant `run-options`. */
export const runOptions = {
  maxSteps: optional(integer({ minimum: 1, maximum: 1000 })),
  toolChoice: optional(toolChoice),
  activeTools: optional(list(id(), { maxItems: MAX_PARTS })),
  clientTools: optional(record(clientTool)),
  /** A JSON Schema of the answer. */
  output: optional(jsonSchema),
  structuredOutput: optional(
    object({
      schema: jsonSchema,
      errorStrategy: optional(oneOf("strict", "warn", "fallback")),
    }),
  ),
  requireToolApproval: optional(flag()),
  instructions: optional(text()),
  system: optional(text()),
  context: optional(list(anything())),
  model: optional(text({ minLength: 1, maxLength: 256 })),
  temperature: optional(number()),
  maxRetries: optional(integer({ minimum: 0, maximum: 20 })),
  modelSettings: optional(anyObject()),
  providerOptions: optional(providerOptions),
  /** Values for dynamic arguments and tools. */
  requestContext: optional(anyObject()),
};

export const runMemory = object({
  thread: either(
    id(),
    object({ id: id(), title: optional(text({ maxLength: LONG })), metadata: optional(metadata) }),
  ),
  /** If the server has an `authorize` function, that decides it. */
  resource: optional(resourceId),
  /** Needs the grant `run-options`. */
  options: optional(anyObject()),
  readOnly: optional(flag()),
});

export const generateBody = object({
  /** A text, texts, or messages `{ role, content }` in any documented form. */
  messages: either(text(), list(either(text(), anyObject()))),
  memory: optional(runMemory),
  /** The older place of `memory.thread`. */
  threadId: optional(id()),
  /** The older place of `memory.resource`. */
  resourceId: optional(resourceId),
  runId: optional(id()),
  ...runOptions,
});

export const target = {
  /** An active run of this process, instead of `threadId`. */
  runId: optional(id()),
  resourceId: optional(resourceId),
  threadId: optional(id()),
  ifActive: optional(
    object({
      behavior: optional(oneOf("deliver", "persist", "discard")),
      attributes: optional(attributes),
    }),
  ),
  ifIdle: optional(
    object({
      behavior: optional(oneOf("wake", "persist", "discard")),
      attributes: optional(attributes),
      streamOptions: optional(object({ ...runOptions })),
    }),
  ),
  /** Sending the same key to a thread again has no effect. Equivalent to the header `Idempotency-Key`. */
  idempotencyKey: optional(id()),
};

/** A signal as stored and echoed. */
export const signal = named(
  "Signal",
  openObject({
    id: id(),
    type: oneOf(...SIGNAL_TYPES),
    tagName: text(),
    contents,
    createdAt: time(),
    acceptedAt: optional(time()),
    attributes: optional(attributes),
    metadata: optional(metadata),
    providerOptions: optional(providerOptions),
  }),
);

/** The message is stored when this arrives. */
export const sendResult = named(
  "SendResult",
  openObject({
    accepted: only(true),
    runId: id(),
    signal,
    /** What happened to it. */
    action: oneOf("deliver", "wake", "queue", "persist", "discard"),
    /** The same idempotency key was sent before; nothing happened now. */
    duplicate: optional(flag()),
    /** State signals only: `true` in the other result. */
    skipped: optional(only(false)),
  }),
);

export const storedMessage = named(
  "StoredMessage",
  openObject({
    id: id(),
    role: oneOf(...MESSAGE_ROLES),
    createdAt: time(),
    threadId: optional(id()),
    resourceId: optional(id()),
    type: optional(text()),
    content: objectLike<MessageContent>("See the page on the protocol, stored messages."),
  }),
);

export const thread = named(
  "Thread",
  openObject({
    id: id(),
    resourceId: id(),
    title: optional(text()),
    metadata: optional(metadata),
    createdAt: time(),
    updatedAt: time(),
  }),
);

export const notification = named(
  "Notification",
  openObject({
    id: id(),
    threadId: id(),
    resourceId: optional(id()),
    agentId: optional(id()),
    source: text(),
    kind: text(),
    priority,
    status: oneOf(...NOTIFICATION_STATUSES),
    summary: text(),
    payload: optional(anything()),
    sourceId: optional(text()),
    dedupeKey: optional(text()),
    coalesceKey: optional(text()),
    coalescedCount: integer(),
    attributes: optional(attributes),
    metadata: optional(metadata),
    createdAt: time(),
    updatedAt: time(),
    deliveredAt: optional(time()),
    seenAt: optional(time()),
    dismissedAt: optional(time()),
    archivedAt: optional(time()),
    discardedAt: optional(time()),
    deliverAt: optional(time()),
    summaryAt: optional(time()),
    deliveryReason: optional(text()),
    deliveryAttempts: integer(),
    lastDeliveryAttemptAt: optional(time()),
    lastDeliveryError: optional(text()),
    deliveredSignalId: optional(text()),
    summarySignalId: optional(text()),
  }),
);

/** A call that waits for a person. */
export const waitingCall = openObject({
  toolCallId: id(),
  toolName: text(),
  args: optional(anything()),
  requiresApproval: flag(),
  suspendPayload: optional(anything()),
  /** Of a subagent's call: the call that waits with it. */
  parentToolCallId: optional(id()),
  /** What people should see instead, if a transform says so; for callers with the grant `inspect`. */
  transcript: optional(openObject({ args: optional(anything()), suspendPayload: optional(anything()) })),
});

const chunkFields = {
  type: text(),
  runId: id(),
  from: oneOf("AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"),
  payload: optional(anything()),
  data: optional(anything()),
  object: optional(anything()),
  metadata: optional(anyObject()),
};

/** One event of a run; on a thread with its number. */
export const chunk = named("Chunk", openObject(chunkFields)) as object as Shape<
  AgentChunk & { seq?: number }
>;

/** One event of a thread. */
export const numberedChunk = named(
  "NumberedChunk",
  openObject({ ...chunkFields, seq: integer({ minimum: 1 }) }),
) as object as Shape<AgentChunk & { seq: number }>;

export const page = {
  page: optional(integer({ minimum: 0 })),
  perPage: optional(integer({ minimum: 0, maximum: 1000 })),
};

export const pageResult = {
  total: integer(),
  page: integer(),
  perPage: either(integer(), only(false)),
  hasMore: flag(),
};

export const toolInfo = named(
  "Tool",
  openObject({
    id: text(),
    description: text(),
    inputSchema: optional(jsonSchema),
    outputSchema: optional(jsonSchema),
    requireApproval: optional(flag()),
    /** The server has nothing to execute: the caller runs it. */
    clientSide: optional(flag()),
  }),
);

export const threadQuery = {
  /** Other clients of this API send it; an authoriser sets the request context here. */
  requestContext: optional(text()),
  agentId: optional(id()),
  resourceId: optional(resourceId),
};

export const executeToolBody = object({
  data: optional(anything()),
  /** Confirms approval for a tool that requires it. Needs the grant `approve-tools`. */
  approved: optional(flag()),
  requestContext: optional(anyObject()),
});
