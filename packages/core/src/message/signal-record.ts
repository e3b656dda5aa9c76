import type { JSONValue, SignalType } from "@selvedge/protocol";

/** What is stored of a signal besides its parts, in `content.metadata.signal`. Dates are ISO texts. */
export interface SignalRecord {
  id: string;
  type: SignalType;
  tagName: string;
  createdAt: string;
  acceptedAt?: string;
  attributes?: Record<string, JSONValue>;
  metadata?: Record<string, unknown>;
}
