import type { AgentChunk } from "../chunk.ts";
import { ERROR_CODES, type ErrorCode } from "../error-codes.ts";
import type { ProviderMetadata } from "../json.ts";
import type { NotificationPriority } from "../notification.ts";
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
  oneOf,
  only,
  openObject,
  optional,
  type Properties,
  record,
  type Shape,
  text,
  time,
} from "./shape.ts";
import type * as Wire from "./wire.ts";

/* Shapes that several routes share. */

const MAX_PARTS = 1000;
const LONG = 8192;

export const metadata: Shape<Record<string, unknown>> = anyObject();
const jsonSchema: Shape<Record<string, unknown>> = anyObject("A JSON Schema");
export const providerOptions: Shape<ProviderMetadata> = record(record(json()));
export const attributes: Shape<Wire.Attributes> = record(json());
export const resourceId: Shape<string> = id("The server's `authorize` function decides it, if there is one.");
export const priority: Shape<NotificationPriority> = oneOf("low", "medium", "high", "urgent");

export const errorCode: Shape<ErrorCode> = oneOf(...(Object.keys(ERROR_CODES) as ErrorCode[]));

export const errorBody: Shape<Wire.ErrorBody> = named(
  "Error",
  openObject<Wire.ErrorBody>({
    error: text(),
    name: text(),
    code: errorCode,
    message: text(),
    details: optional(anyObject()),
  }),
);

export const contents: Shape<Wire.SignalContents> = named(
  "Contents",
  either<[string, (Wire.TextPart | Wire.FilePart)[]]>(
    text(),
    list(
      either<[Wire.TextPart, Wire.FilePart]>(
        object<Wire.TextPart>({
          type: only("text"),
          text: text(),
          providerOptions: optional(providerOptions),
        }),
        object<Wire.FilePart>({
          type: only("file"),
          data: text({ description: "Base64, a data URL or a URL" }),
          mediaType: text({ maxLength: 256 }),
          filename: optional(text({ maxLength: 1024 })),
          providerOptions: optional(providerOptions),
        }),
      ),
      { maxItems: MAX_PARTS },
    ),
  ),
);

export const message: Shape<Wire.MessageInput> = either<[Wire.SignalContents, Wire.MessageBody]>(
  contents,
  object<Wire.MessageBody>({
    contents,
    attributes: optional(attributes),
    metadata: optional(metadata),
    providerOptions: optional(providerOptions),
    id: optional(id()),
  }),
);

const clientTool: Shape<Wire.ClientTool> = openObject<Wire.ClientTool>({
  id: optional(id()),
  description: optional(text()),
  inputSchema: optional(jsonSchema),
  parameters: optional(jsonSchema),
  outputSchema: optional(jsonSchema),
});

export const runOptions: Properties<Wire.RunOptions> = {
  maxSteps: optional(integer({ minimum: 1, maximum: 1000 })),
  toolChoice: optional(
    either<["auto" | "none" | "required", { type: "tool"; toolName: string }]>(
      oneOf("auto", "none", "required"),
      object<{ type: "tool"; toolName: string }>({ type: only("tool"), toolName: id() }),
    ),
  ),
  activeTools: optional(list(id(), { maxItems: MAX_PARTS })),
  clientTools: optional(record(clientTool)),
  output: optional(jsonSchema),
  structuredOutput: optional(
    object<NonNullable<Wire.RunOptions["structuredOutput"]>>({
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
  requestContext: optional(anyObject()),
};

export const generateBody: Shape<Wire.GenerateBody> = object<Wire.GenerateBody>({
  messages: either<[string, (string | Record<string, unknown>)[]]>(
    text(),
    list(either<[string, Record<string, unknown>]>(text(), anyObject())),
  ),
  memory: optional(
    object<Wire.RunMemory>({
      thread: either<[string, Exclude<Wire.RunMemory["thread"], string>]>(
        id(),
        object<Exclude<Wire.RunMemory["thread"], string>>({
          id: id(),
          title: optional(text({ maxLength: LONG })),
          metadata: optional(metadata),
        }),
      ),
      resource: optional(resourceId),
      options: optional(anyObject()),
      readOnly: optional(flag()),
    }),
  ),
  threadId: optional(id()),
  resourceId: optional(resourceId),
  runId: optional(id()),
  ...runOptions,
});

export const target: Properties<Wire.SendTarget> = {
  runId: optional(id()),
  resourceId: optional(resourceId),
  threadId: optional(id()),
  ifActive: optional(
    object<NonNullable<Wire.SendTarget["ifActive"]>>({
      behavior: optional(oneOf("deliver", "persist", "discard")),
      attributes: optional(attributes),
    }),
  ),
  ifIdle: optional(
    object<NonNullable<Wire.SendTarget["ifIdle"]>>({
      behavior: optional(oneOf("wake", "persist", "discard")),
      attributes: optional(attributes),
      streamOptions: optional(object<Wire.RunOptions>({ ...runOptions })),
    }),
  ),
  idempotencyKey: optional(id()),
};

export const signal: Shape<Wire.WireSignal> = named(
  "Signal",
  openObject<Wire.WireSignal>({
    id: id(),
    type: oneOf("user", "state", "reactive", "notification"),
    tagName: text(),
    contents,
    createdAt: time(),
    acceptedAt: optional(time()),
    attributes: optional(attributes),
    metadata: optional(metadata),
    providerOptions: optional(providerOptions),
  }),
);

export const sendResult: Shape<Wire.SendResult> = named(
  "SendResult",
  openObject<Wire.SendResult>({
    accepted: only(true),
    runId: id(),
    signal,
    action: oneOf("deliver", "wake", "queue", "persist", "discard"),
    duplicate: optional(flag()),
  }),
);

export const storedMessage: Shape<Wire.WireMessage> = named(
  "StoredMessage",
  openObject<Wire.WireMessage>({
    id: id(),
    role: oneOf("user", "assistant", "system", "signal"),
    createdAt: time(),
    threadId: optional(id()),
    resourceId: optional(id()),
    type: optional(text()),
    content: anyObject<Wire.WireMessage["content"]>("See the page on the protocol, stored messages."),
  }),
);

export const thread: Shape<Wire.WireThread> = named(
  "Thread",
  openObject<Wire.WireThread>({
    id: id(),
    resourceId: id(),
    title: optional(text()),
    metadata: optional(metadata),
    createdAt: time(),
    updatedAt: time(),
  }),
);

export const notification: Shape<Wire.WireNotification> = named(
  "Notification",
  openObject<Wire.WireNotification>({
    id: id(),
    threadId: id(),
    source: text(),
    kind: text(),
    priority,
    status: oneOf("pending", "delivered", "seen", "dismissed", "archived", "discarded", "failed"),
    summary: text(),
    createdAt: time(),
    updatedAt: time(),
  }),
);

/** One event of a run. */
export const chunk: Shape<AgentChunk> = named("Chunk", chunkShape<AgentChunk>({}));

/** One event of a thread. */
export const numberedChunk: Shape<Wire.NumberedChunk> = named(
  "NumberedChunk",
  chunkShape<Wire.NumberedChunk>({ seq: integer({ minimum: 1 }) }),
);

export const page: Properties<Wire.PageQuery> = {
  page: optional(integer({ minimum: 0 })),
  perPage: optional(integer({ minimum: 0, maximum: 1000 })),
};

export const pageResult: Properties<Wire.Page> = {
  total: integer(),
  page: integer(),
  perPage: either<[number, false]>(integer(), only(false)),
  hasMore: flag(),
};

export const toolInfo: Shape<Wire.ToolInfo> = named(
  "Tool",
  openObject<Wire.ToolInfo>({
    id: text(),
    description: text(),
    inputSchema: optional(jsonSchema),
    outputSchema: optional(jsonSchema),
    requireApproval: optional(flag()),
    clientSide: optional(flag()),
  }),
);

export const threadQuery: Properties<Wire.ThreadQuery> = {
  agentId: optional(id()),
  resourceId: optional(resourceId),
};

function chunkShape<Type extends object>(more: Record<string, Shape<unknown>>): Shape<Type> {
  return {
    type: "object",
    properties: {
      type: text(),
      runId: id(),
      from: oneOf("AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"),
      payload: anything(),
      data: anything(),
      object: anything(),
      metadata: anyObject(),
      ...more,
    },
    required: ["type", "runId", "from", ...Object.keys(more)],
  };
}
