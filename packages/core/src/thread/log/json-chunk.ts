import type { AgentChunk, ChunkPayloads, JSONValue } from "@selvedge/protocol";
import { errorMessage } from "../../errors.ts";
import { roughSize, toJson } from "../../json.ts";

/** Fields with values of an app, a tool or a provider, which may be anything. */
const FOREIGN: { [Type in keyof ChunkPayloads]: readonly (keyof ChunkPayloads[Type])[] } = {
  start: [],
  "step-start": [],
  "step-finish": [],
  finish: [],
  abort: [],
  error: ["error"],
  raw: [],
  "reasoning-signature": [],
  "tool-call-input-streaming-start": [],
  "tool-call-delta": [],
  "tool-call-input-streaming-end": [],
  "text-start": ["providerMetadata"],
  "text-delta": ["text", "providerMetadata"],
  "text-end": ["providerMetadata"],
  "reasoning-start": ["providerMetadata"],
  "reasoning-delta": ["text", "providerMetadata"],
  "reasoning-end": ["providerMetadata"],
  "redacted-reasoning": ["data"],
  "response-metadata": ["timestamp"],
  source: ["providerMetadata"],
  file: ["providerMetadata"],
  "tool-call": ["args", "providerMetadata"],
  "tool-call-approval": ["args"],
  "tool-call-decided": [],
  "tool-call-suspended": ["args", "suspendPayload"],
  "tool-output": ["output"],
  "tool-output-denied": ["args"],
  "tool-result": ["args", "result", "providerMetadata"],
  "tool-error": ["args", "error"],
  tripwire: ["reason", "metadata"],
};

/** When an error becomes JSON, longer messages are cut and larger details left out. */
const MAX_ERROR_LENGTH = 1 << 16;

/**
 * A chunk as JSON, so that it can be stored and sent whatever an app or provider put into it. Text is not copied, so an
 * ordinary chunk costs nothing.
 */
export function toJsonChunk(chunk: AgentChunk): AgentChunk {
  if (isPlainText(chunk)) return chunk;
  if (chunk.metadata !== undefined) {
    const { metadata, ...rest } = chunk;
    return { ...toJsonChunk(rest as AgentChunk), metadata: toJson(metadata) as Record<string, unknown> };
  }
  if ("data" in chunk) return { ...chunk, data: toJson(chunk.data) ?? null };
  if ("object" in chunk) return { ...chunk, object: toJson(chunk.object) ?? null };
  switch (chunk.type) {
    case "raw":
      return { ...chunk, payload: toJson(chunk.payload) ?? null };
    case "error":
      return { ...chunk, payload: { ...chunk.payload, error: errorToJson(chunk.payload.error) } };
    case "tool-error": {
      const { args, error } = chunk.payload;
      return { ...chunk, payload: { ...chunk.payload, args: toJson(args), error: errorToJson(error) } };
    }
    default:
      return withJson(chunk, FOREIGN[chunk.type as keyof ChunkPayloads]);
  }
}

function isPlainText(chunk: AgentChunk): boolean {
  if (chunk.type !== "text-delta" || chunk.metadata !== undefined) return false;
  return typeof chunk.payload.text === "string" && chunk.payload.providerMetadata === undefined;
}

function withJson(chunk: AgentChunk, fields: readonly string[] | undefined): AgentChunk {
  if (!fields) return chunk;
  const { payload } = chunk as { payload: Record<string, unknown> };
  let copy: Record<string, unknown> | undefined;
  for (const field of fields) {
    const value = payload[field];
    if (typeof value === "string" || value === undefined) continue;
    copy ??= { ...payload };
    copy[field] = toJson(value);
  }
  return copy ? ({ ...chunk, payload: copy } as unknown as AgentChunk) : chunk;
}

function errorToJson(error: unknown): unknown {
  if (!(error instanceof Error)) return toJson(error) ?? null;
  const { name, code, details } = toJson(fieldsOf(error)) as Record<string, JSONValue>;
  return {
    name: typeof name === "string" ? name : "Error",
    message: errorMessage(error).slice(0, MAX_ERROR_LENGTH).toWellFormed(),
    ...(code !== undefined && { code }),
    ...(details !== undefined && roughSize(details, MAX_ERROR_LENGTH) <= MAX_ERROR_LENGTH && { details }),
  };
}

/** Read here so that a property that throws does no harm. */
function fieldsOf(error: Error): object {
  return {
    get name() {
      return error.name;
    },
    get code() {
      return (error as { code?: unknown }).code;
    },
    get details() {
      return (error as { details?: unknown }).details;
    },
  };
}
