import { roughSize } from "../json.ts";
import type { ModelPart } from "./model.ts";

/** The overhead of a part beside its text: many small parts weigh as much as a few large ones. */
export const PART_BYTES = 100;

/** The approximate size of a part in bytes. Cheap for text; counting stops above `enough`. */
export function partSize(part: ModelPart, enough: number): number {
  if (part.type === "text-delta" && part.providerMetadata === undefined)
    return PART_BYTES + roughSize(part.delta, enough);
  return PART_BYTES + roughSize(part, enough);
}
