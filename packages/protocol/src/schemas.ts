import { z } from "zod";
import type {
  AgentChunk,
  ChunkFrom,
  ChunkPayloads,
  DataChunk,
  ObjectChunk,
  PayloadChunk,
  StepSummary,
  ToolCallPayload,
  ToolResultPayload,
} from "./chunk.ts";
import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";
import type { JSONValue, ProviderMetadata } from "./json.ts";
import {
  MESSAGE_ROLES,
  TOOL_INVOCATION_STATES,
  type MessageContent,
  type MessagePart,
  type MessageRole,
  type StoredMessage,
  type ToolInvocation,
} from "./message.ts";
import { FINISH_REASONS, type FinishReason, type Usage } from "./usage.ts";

/*
 * Schemas of what crosses the wire. The types are written by hand beside this file, and the annotations here make the
 * compiler compare both. Times are accepted as `Date` and as ISO text.
 */

/** An optional key in the sense of `exactOptionalPropertyTypes`: absent, never `undefined`. */
const optional = <T extends z.ZodType>(schema: T): z.ZodExactOptional<T> => schema.exactOptional();

const date: z.ZodType<Date> = z.union([
  z.date(),
  z.iso.datetime({ offset: true }).transform((text) => new Date(text)),
]);
const record: z.ZodType<Record<string, unknown>> = z.record(z.string(), z.unknown());
const empty: z.ZodType<Record<string, never>> = z.record(z.string(), z.never());
const json: z.ZodType<JSONValue> = z.lazy(() =>
  z.union([z.null(), z.string(), z.number(), z.boolean(), z.array(json), z.record(z.string(), json)]),
);
const providerMetadata: z.ZodType<ProviderMetadata> = z.record(z.string(), z.record(z.string(), json));

const finishReason: z.ZodType<FinishReason> = z.enum(FINISH_REASONS);

// JSON drops `undefined` keys, so an unknown count may be absent.
const tokens = z.number().optional();
const usage: z.ZodType<Usage> = z
  .object({
    inputTokens: tokens,
    outputTokens: tokens,
    totalTokens: tokens,
    reasoningTokens: tokens,
    cachedInputTokens: tokens,
    cacheCreationInputTokens: tokens,
    raw: z.unknown().optional(),
  })
  .transform(({ inputTokens, outputTokens, totalTokens, ...more }) => ({
    inputTokens,
    outputTokens,
    totalTokens,
    ...more,
  }));

// Messages

const partBase = { providerMetadata: optional(providerMetadata), createdAt: optional(z.number()) };

const toolInvocation: z.ZodType<ToolInvocation> = z.object({
  state: z.enum(TOOL_INVOCATION_STATES),
  toolCallId: z.string(),
  toolName: z.string(),
  args: z.unknown(),
  result: optional(z.unknown()),
  isError: optional(z.boolean()),
  errorCode: optional(z.enum(Object.keys(ERROR_CODES) as [ErrorCode])),
  modelOutput: optional(z.unknown()),
  approval: optional(
    z.object({ id: z.string(), approved: optional(z.boolean()), reason: optional(z.string()) }),
  ),
  transcript: optional(z.object({ args: optional(z.unknown()), result: optional(z.unknown()) })),
  providerExecuted: optional(z.boolean()),
  resultProviderMetadata: optional(providerMetadata),
});

const reasoningDetail = z.union([
  z.object({ type: z.literal("text"), text: z.string(), signature: optional(z.string()) }),
  z.object({ type: z.literal("redacted"), data: z.string() }),
]);

const source = {
  id: z.string(),
  sourceType: z.enum(["url", "document"]),
  title: optional(z.string()),
  url: optional(z.string()),
  mimeType: optional(z.string()),
  filename: optional(z.string()),
};

const dataType = z.templateLiteral(["data-", z.string()]);

const messagePart: z.ZodType<MessagePart> = z.union([
  z.object({ type: z.literal("text"), text: z.string(), ...partBase }),
  z.object({
    type: z.literal("reasoning"),
    reasoning: z.string(),
    details: z.array(reasoningDetail),
    ...partBase,
  }),
  z.object({ type: z.literal("tool-invocation"), toolInvocation, ...partBase }),
  z.object({
    type: z.literal("file"),
    data: z.string(),
    mimeType: z.string(),
    filename: optional(z.string()),
    providerReference: optional(z.record(z.string(), z.string())),
    reasoning: optional(z.boolean()),
    ...partBase,
  }),
  z.object({
    type: z.literal("custom"),
    kind: z.templateLiteral([z.string(), ".", z.string()]),
    ...partBase,
  }),
  z.object({ type: z.literal("source"), source: z.object(source), ...partBase }),
  z.object({ type: z.literal("step-start"), model: optional(z.string()), ...partBase }),
  z.object({ type: dataType, data: z.unknown(), ...partBase }),
]);

const messageContent: z.ZodType<MessageContent> = z.object({
  format: z.literal(2),
  parts: z.array(messagePart),
  metadata: optional(record),
  providerMetadata: optional(providerMetadata),
  content: optional(z.string()),
});

const messageRole: z.ZodType<MessageRole> = z.enum(MESSAGE_ROLES);

/** A message as it is stored ("format 2"). */
export const storedMessageSchema: z.ZodType<StoredMessage> = z.object({
  id: z.string(),
  role: messageRole,
  createdAt: date,
  threadId: optional(z.string()),
  resourceId: optional(z.string()),
  type: optional(z.string()),
  content: messageContent,
});

// Errors

const errorCode: z.ZodType<ErrorCode> = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]]);

/** An `AgentError` on the wire. */
export interface WireError {
  name: string;
  code: ErrorCode;
  message: string;
  details?: Record<string, unknown>;
}

export const errorSchema: z.ZodType<WireError> = z.object({
  name: z.string(),
  code: errorCode,
  message: z.string(),
  details: optional(record),
});

// Chunks

const toolCall: z.ZodType<ToolCallPayload> = z.object({
  toolCallId: z.string(),
  toolName: z.string(),
  args: z.unknown(),
  providerExecuted: optional(z.boolean()),
  dynamic: optional(z.boolean()),
  providerMetadata: optional(providerMetadata),
});

const toolResult: z.ZodType<ToolResultPayload> = z.object({
  toolCallId: z.string(),
  toolName: z.string(),
  args: optional(z.unknown()),
  result: z.unknown(),
  isError: optional(z.boolean()),
  providerExecuted: optional(z.boolean()),
  providerMetadata: optional(providerMetadata),
});

const stepSummary: z.ZodType<StepSummary> = z.object({
  text: z.string(),
  toolCalls: z.array(toolCall),
  usage,
});

const messagesByRole = z.object({
  all: z.array(storedMessageSchema),
  user: z.array(storedMessageSchema),
  nonUser: z.array(storedMessageSchema),
});

const block = { id: z.string(), providerMetadata: optional(providerMetadata) };
const call = { toolCallId: z.string(), toolName: z.string() };

/** The `payload` of each chunk type. */
const payloads: { [Type in keyof ChunkPayloads]: z.ZodType<ChunkPayloads[Type]> } = {
  start: empty,
  "step-start": z.object({
    messageId: z.string(),
    model: optional(z.string()),
    request: optional(z.unknown()),
    warnings: optional(z.array(z.unknown())),
  }),
  "response-metadata": z.object({
    id: optional(z.string()),
    modelId: optional(z.string()),
    timestamp: optional(date),
  }),
  "text-start": z.object(block),
  "text-delta": z.object({ ...block, text: z.string() }),
  "text-end": z.object(block),
  "reasoning-start": z.object({ ...block, signature: optional(z.string()) }),
  "reasoning-delta": z.object({ ...block, text: z.string() }),
  "reasoning-end": z.object({ ...block, signature: optional(z.string()) }),
  "reasoning-signature": z.object({ id: z.string(), signature: z.string() }),
  "redacted-reasoning": z.object({ id: z.string(), data: z.unknown() }),
  source: z.object({ ...source, providerMetadata: optional(providerMetadata) }),
  file: z.object({
    data: z.string(),
    base64: optional(z.string()),
    mimeType: z.string(),
    filename: optional(z.string()),
    reasoning: optional(z.boolean()),
    providerMetadata: optional(providerMetadata),
  }),
  "tool-call-input-streaming-start": z.object({
    ...call,
    providerExecuted: optional(z.boolean()),
    dynamic: optional(z.boolean()),
  }),
  "tool-call-delta": z.object({
    toolCallId: z.string(),
    argsTextDelta: z.string(),
    toolName: optional(z.string()),
  }),
  "tool-call-input-streaming-end": z.object({ toolCallId: z.string() }),
  "tool-call": toolCall,
  "tool-call-approval": z.object({
    ...call,
    args: z.unknown(),
    resumeSchema: z.string(),
    reason: optional(z.string()),
  }),
  "tool-call-decided": z.object({ ...call, approved: z.boolean(), reason: optional(z.string()) }),
  "tool-call-suspended": z.object({
    ...call,
    args: z.unknown(),
    suspendPayload: z.unknown(),
    resumeSchema: z.string(),
  }),
  "tool-output": z.object({
    toolCallId: z.string(),
    toolName: optional(z.string()),
    output: z.unknown(),
  }),
  "tool-result": toolResult,
  "tool-error": z.object({
    ...call,
    args: optional(z.unknown()),
    error: z.unknown(),
    providerExecuted: optional(z.boolean()),
  }),
  "tool-output-denied": z.object({
    ...call,
    args: optional(z.unknown()),
    approval: z.object({ id: z.string(), approved: z.literal(false), reason: optional(z.string()) }),
  }),
  "step-finish": z.object({
    stepResult: z.object({
      reason: finishReason,
      isContinued: optional(z.boolean()),
      warnings: optional(z.array(z.unknown())),
    }),
    output: stepSummary,
    metadata: record,
    messages: optional(messagesByRole),
  }),
  finish: z.object({
    stepResult: z.object({ reason: finishReason }),
    output: z.object({ usage }),
    metadata: record,
    messages: messagesByRole,
  }),
  error: z.object({ error: z.unknown() }),
  abort: empty,
  raw: z.unknown(),
  tripwire: z.object({
    reason: z.string(),
    retry: optional(z.boolean()),
    metadata: optional(z.unknown()),
    processorId: optional(z.string()),
  }),
};

/** The types of the chunks that carry a `payload`. */
export const payloadTypes: readonly (keyof ChunkPayloads)[] = Object.keys(
  payloads,
) as (keyof ChunkPayloads)[];

const from: z.ZodType<ChunkFrom> = z.enum(["AGENT", "USER", "SYSTEM", "WORKFLOW", "NETWORK"]);
const envelope = { runId: z.string(), from, metadata: optional(record) };

const payloadChunks = Object.entries(payloads).map(([type, payload]) =>
  z.object({ type: z.literal(type), payload, ...envelope }),
);

const objectChunk: z.ZodType<ObjectChunk> = z.object({
  type: z.enum(["object", "object-result"]),
  object: z.unknown(),
  ...envelope,
});

const dataChunk: z.ZodType<DataChunk> = z.object({
  type: dataType,
  id: optional(z.string()),
  data: z.unknown(),
  transient: optional(z.boolean()),
  ...envelope,
});

// The table above is complete by its type; zod cannot carry that through a list.
const payloadChunk = z.discriminatedUnion(
  "type",
  payloadChunks as [(typeof payloadChunks)[number], ...typeof payloadChunks],
) as unknown as z.ZodType<PayloadChunk>;

/** One event on a run's stream. */
export const chunkSchema: z.ZodType<AgentChunk> = z.union([payloadChunk, objectChunk, dataChunk]);
