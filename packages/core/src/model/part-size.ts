import { roughSize } from "../json.ts";
import type { ModelPart } from "./model.ts";

/** The overhead of a part beside its text: many small parts weigh as much as a few large ones. */
export const PART_BYTES = 100;

/** The approximate size of a part in bytes. Cheap for text; counting stops above `enough`. */
export function partSize(part: ModelPart, enough: number): number {
  if ("providerMetadata" in part && part.providerMetadata !== undefined)
    return PART_BYTES + roughSize(part, enough);
  switch (part.type) {
    case "text-delta":
    case "reasoning-delta":
    case "tool-input-delta":
      return PART_BYTES + roughSize(part.delta, enough);
    case "tool-call":
      return PART_BYTES + roughSize(part.toolName, enough) + roughSize(part.input, enough);
    default:
      return PART_BYTES + roughSize(part, enough);
  }
}
