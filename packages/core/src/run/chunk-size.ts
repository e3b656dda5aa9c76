import type { AgentChunk } from "@selvedge/protocol";
import { roughSize } from "../json.ts";
import { PART_BYTES } from "../model/part-size.ts";

/** About how many bytes a chunk takes that a run keeps. Cheap for text; what is above `enough` is not counted. */
export function chunkSize(chunk: AgentChunk, enough: number): number {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      return PART_BYTES + chunk.payload.text.length;
    case "tool-call-input-streaming-start":
      return PART_BYTES + chunk.payload.toolCallId.length + chunk.payload.toolName.length;
    case "tool-call-delta":
      return PART_BYTES + chunk.payload.toolCallId.length + chunk.payload.argsTextDelta.length;
    case "tool-call-input-streaming-end":
      return PART_BYTES + chunk.payload.toolCallId.length;
    // They repeat what was there before.
    case "step-start":
    case "step-finish":
    case "finish":
      return PART_BYTES;
    // Cut to a size of its own.
    case "tool-error":
      return PART_BYTES;
    default:
      if ("payload" in chunk) return PART_BYTES + roughSize(chunk.payload, enough);
      return PART_BYTES + roughSize("data" in chunk ? chunk.data : chunk.object, enough);
  }
}
