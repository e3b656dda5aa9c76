import type { AgentChunk } from "@selvedge/protocol";
import { errorMessage } from "../errors.ts";
import { roughSize } from "../json.ts";
import { PART_BYTES } from "../model/part-size.ts";

/** The approximate size of a chunk in bytes. Cheap for text; counting stops above `enough`. */
export function chunkSize(chunk: AgentChunk, enough: number): number {
  switch (chunk.type) {
    case "text-delta":
    case "reasoning-delta":
      return PART_BYTES + roughSize(chunk.payload.text, enough);
    case "tool-call-input-streaming-start":
      return PART_BYTES + chunk.payload.toolCallId.length + chunk.payload.toolName.length;
    case "tool-call-delta":
      return PART_BYTES + chunk.payload.toolCallId.length + chunk.payload.argsTextDelta.length;
    case "tool-call-input-streaming-end":
      return PART_BYTES + chunk.payload.toolCallId.length;
    // They repeat earlier content.
    case "step-start":
    case "step-finish":
    case "finish":
    // Its payload was counted when the tool returned it.
    case "tool-call-suspended":
      return PART_BYTES;
    case "tool-error": {
      const { args, error } = chunk.payload;
      const said = error instanceof Error ? errorMessage(error) : error;
      return PART_BYTES + roughSize(args, enough) + roughSize(said, enough);
    }
    default:
      if ("payload" in chunk) return PART_BYTES + roughSize(chunk.payload, enough);
      return PART_BYTES + roughSize("data" in chunk ? chunk.data : chunk.object, enough);
  }
}
