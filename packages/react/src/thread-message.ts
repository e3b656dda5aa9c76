import type { MessagePart } from "@selvedge/protocol";
import type { SignalContents, Wire, WireMessage, WireSignal } from "@selvedge/protocol/routes";

/**
 * - `sending`: shown here, not yet accepted by the server.
 * - `waiting`: accepted, not yet read by a run.
 * - `streaming`: being written.
 * - `failed`: not accepted, or its run failed; `error` says why.
 */
export type MessageState = "sending" | "waiting" | "streaming" | "done" | "failed";

/** A message as shown on a page. Replaced by a new object whenever it changes, so that it can be compared. */
export interface ThreadMessage {
  readonly id: string;
  /** `user` for people's messages, however they were sent. */
  readonly role: "user" | "assistant" | "system" | "signal";
  /** For signals, the tag the model sees. */
  readonly type?: string;
  readonly createdAt: string;
  readonly parts: readonly Wire<MessagePart>[];
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** The run that wrote or read it, if known. */
  readonly runId?: string;
  readonly state: MessageState;
  readonly error?: Error;
}

interface SignalRecord {
  type?: string;
  tagName?: string;
  attributes?: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

/** Converts a stored message. */
export function fromStored(message: WireMessage): ThreadMessage {
  const { signal, ...metadata } = (message.content.metadata ?? {}) as { signal?: SignalRecord };
  const own = message.role === "signal" ? (signal?.metadata ?? {}) : metadata;
  return {
    id: message.id,
    role: message.role === "signal" && signal?.type === "user" ? "user" : message.role,
    ...(message.type !== undefined && { type: message.type }),
    createdAt: message.createdAt,
    parts: message.content.parts,
    ...(signal?.attributes && { attributes: signal.attributes }),
    ...(Object.keys(own).length > 0 && { metadata: own }),
    state: "done",
  };
}

/** Converts a signal from the stream. */
export function fromSignal(signal: WireSignal, runId: string): ThreadMessage {
  return {
    id: signal.id,
    role: signal.type === "user" ? "user" : "signal",
    type: signal.tagName,
    createdAt: signal.createdAt,
    parts: toParts(signal.contents),
    ...(signal.attributes && { attributes: signal.attributes }),
    ...(signal.metadata && { metadata: signal.metadata }),
    runId,
    state: "done",
  };
}

export function toParts(contents: SignalContents): Wire<MessagePart>[] {
  if (typeof contents === "string") return [{ type: "text", text: contents }];
  return contents.map((part) =>
    part.type === "text"
      ? { type: "text", text: part.text }
      : {
          type: "file",
          data: part.data,
          mimeType: part.mediaType,
          ...(part.filename !== undefined && { filename: part.filename }),
        },
  );
}
