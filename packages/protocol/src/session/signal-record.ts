import type { JSONValue } from "../json.ts";
import type { SignalType } from "../signal-type.ts";

/** The stored fields of a signal besides its parts, in `content.metadata.signal`. Dates are ISO strings. */
export interface SignalRecord {
  id: string;
  type: SignalType;
  tagName: string;
  createdAt: string;
  acceptedAt?: string;
  attributes?: Record<string, JSONValue>;
  metadata?: Record<string, unknown>;
}

/** The content of a signal: a text, or texts and files. */
export type Said =
  | string
  | readonly (
      | { type: "text"; text: string }
      | { type: "file"; data: unknown; mediaType?: string; filename?: string }
    )[];
