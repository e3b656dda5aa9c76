import type { AgentChunk, ChunkPayloads, PayloadChunk, ProviderMetadata } from "@selvedge/protocol";
import { toJson } from "../json.ts";
import type { ModelPart } from "../model/model.ts";

/** Converts a part of a model's reply to a chunk of the run; `undefined` for parts that are not shown. */
export function toChunk(part: ModelPart, runId: string): AgentChunk | undefined {
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
      return agentChunk(part.type, runId, withMeta({ id: part.id, text: part.delta }, part));
    case "text-start":
    case "text-end":
    case "reasoning-start":
    case "reasoning-end":
      return agentChunk(part.type, runId, withMeta({ id: part.id }, part));
    case "tool-input-start":
      return agentChunk(
        "tool-call-input-streaming-start",
        runId,
        withFlags({ toolCallId: toId(part.id), toolName: toId(part.toolName) }, part),
      );
    case "tool-input-delta":
      return agentChunk("tool-call-delta", runId, { toolCallId: toId(part.id), argsTextDelta: part.delta });
    case "tool-input-end":
      return agentChunk("tool-call-input-streaming-end", runId, { toolCallId: toId(part.id) });
    case "tool-call":
      return agentChunk(
        "tool-call",
        runId,
        withMeta(
          withFlags(
            {
              toolCallId: toId(part.toolCallId),
              toolName: toId(part.toolName),
              args: parseArgs(part.input),
            },
            part,
          ),
          part,
        ),
      );
    case "tool-result":
      if (part.preliminary) return undefined;
      return agentChunk(
        "tool-result",
        runId,
        withMeta(
          {
            toolCallId: toId(part.toolCallId),
            toolName: toId(part.toolName),
            result: toJson(part.result),
            ...(part.isError && { isError: true }),
            providerExecuted: true,
          },
          part,
        ),
      );
    case "source":
      return agentChunk("source", runId, toSource(part));
    case "file":
    case "reasoning-file": {
      const data = part.data.type === "url" ? part.data.url.toString() : toBase64(part.data.data);
      const base64 = part.data.type === "data" && { base64: data };
      const reasoning = part.type === "reasoning-file" && { reasoning: true };
      const payload = { data, ...base64, mimeType: part.mediaType, ...reasoning };
      return agentChunk("file", runId, withMeta(payload, part));
    }
    case "response-metadata":
      return agentChunk("response-metadata", runId, {
        ...(part.id !== undefined && { id: part.id }),
        ...(part.modelId !== undefined && { modelId: part.modelId }),
        ...(part.timestamp !== undefined && { timestamp: part.timestamp }),
      });
    case "raw":
      return agentChunk("raw", runId, part.rawValue);
    default:
      return undefined;
  }
}

export function agentChunk<Type extends keyof ChunkPayloads>(
  type: Type,
  runId: string,
  payload: ChunkPayloads[Type],
): PayloadChunk<Type> {
  return { type, runId, from: "AGENT", payload } as PayloadChunk<Type>;
}

/** A name that a store accepts as a key. */
function toId(id: string): string {
  const text = String(id).slice(0, MAX_ID_LENGTH);
  return text.isWellFormed() && !text.includes("\0") ? text : text.toWellFormed().replaceAll("\0", "");
}

// Text that is not JSON stays text; the tool's input validation reports it to the model.
function parseArgs(input: string): unknown {
  if (input === "") return {};
  try {
    const args: unknown = JSON.parse(input);
    // Extremely deep nesting can be parsed, but neither validated nor stored.
    return input.length > MAX_DEPTH * 2 && isDeep(args, 0) ? input : args;
  } catch {
    return input;
  }
}

const MAX_DEPTH = 500;
const MAX_ID_LENGTH = 1000;

function isDeep(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return depth >= MAX_DEPTH || Object.values(value).some((item) => isDeep(item, depth + 1));
}

function toSource(part: Extract<ModelPart, { type: "source" }>): ChunkPayloads["source"] {
  const base = withMeta({ id: part.id, ...(part.title !== undefined && { title: part.title }) }, part);
  if (part.sourceType === "url") return { ...base, sourceType: "url", url: part.url };
  return {
    ...base,
    sourceType: "document",
    mimeType: part.mediaType,
    ...(part.filename !== undefined && { filename: part.filename }),
  };
}

function toBase64(data: string | Uint8Array): string {
  return typeof data === "string" ? data : Buffer.from(data).toString("base64");
}

/** Adds the provider's metadata. Missing metadata adds no key to the payload. */
function withMeta<Payload extends object>(
  payload: Payload & { providerMetadata?: ProviderMetadata },
  part: { providerMetadata?: unknown },
): Payload & { providerMetadata?: ProviderMetadata } {
  if (part.providerMetadata !== undefined)
    payload.providerMetadata = toJson(part.providerMetadata) as ProviderMetadata;
  return payload;
}

function withFlags<Payload extends object>(
  payload: Payload & { providerExecuted?: boolean; dynamic?: boolean },
  part: { providerExecuted?: boolean; dynamic?: boolean },
): Payload & { providerExecuted?: boolean; dynamic?: boolean } {
  if (part.providerExecuted) payload.providerExecuted = true;
  if (part.dynamic) payload.dynamic = true;
  return payload;
}
