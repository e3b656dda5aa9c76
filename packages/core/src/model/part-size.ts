import { roughSize } from "../json.ts";
import type { ModelPart } from "./model.ts";

/** What a part takes beside its text, once it is a chunk of a run: many small parts are as heavy as a few large ones. */
export const PART_BYTES = 100;

/** About how many bytes a part of a reply takes. Cheap for text; what is above `enough` is not counted. */
export function partSize(part: ModelPart, enough: number): number {
  if (part.type === "text-delta" && part.providerMetadata === undefined)
    return PART_BYTES + part.delta.length;
  const { providerMetadata } = part as { providerMetadata?: unknown };
  const meta = providerMetadata === undefined ? 0 : roughSize(providerMetadata, enough);
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return PART_BYTES + part.delta.length + meta;
    case "tool-call":
      return PART_BYTES + part.input.length + part.toolName.length + meta;
    case "file":
    case "reasoning-file":
      return PART_BYTES + (part.data.type === "data" ? part.data.data.length : 0) + meta;
    case "tool-result":
      return PART_BYTES + roughSize(part.result, enough) + meta;
    case "raw":
      return PART_BYTES + roughSize(part.rawValue, enough);
    default:
      return PART_BYTES + meta;
  }
}
