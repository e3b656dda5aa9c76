import { roughSize } from "../json.ts";
import type { ModelPart } from "./model.ts";

/** What a part takes beside its text, once it is a chunk of a run: many small parts are as heavy as a few large ones. */
export const PART_BYTES = 100;

/** About how many bytes a part of a reply takes. Cheap for text; what is above `enough` is not counted. */
export function partSize(part: ModelPart, enough: number): number {
  if (part.type === "text-delta" && part.providerMetadata === undefined)
    return PART_BYTES + roughSize(part.delta, enough);
  return PART_BYTES + roughSize(part, enough);
}
