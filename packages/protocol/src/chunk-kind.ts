import type { AgentChunk, DataChunk } from "./chunk.ts";

type NamedType = Exclude<AgentChunk["type"], DataChunk["type"]>;

/**
 * What each chunk type is about. A reader that handles only some chunks names the kinds it leaves out (`ignoreChunk`),
 * so a new type does not compile until it has a row here, and one of a new kind until every reader handles or names it.
 */
interface Kinds {
  start: "run";
  finish: "run";
  error: "run";
  abort: "run";
  tripwire: "run";
  "step-start": "step";
  "step-finish": "step";
  "text-start": "content";
  "text-delta": "content";
  "text-end": "content";
  "reasoning-start": "content";
  "reasoning-delta": "content";
  "reasoning-end": "content";
  source: "content";
  file: "content";
  "tool-call-input-streaming-start": "input";
  "tool-call-delta": "input";
  "tool-call-input-streaming-end": "input";
  "tool-call": "call";
  "tool-call-approval": "question";
  "tool-call-suspended": "question";
  "tool-output": "progress";
  "tool-result": "outcome";
  "tool-error": "outcome";
  "tool-output-denied": "outcome";
  // A question has been answered; what comes of it is an outcome.
  "tool-call-decided": "other";
  object: "other";
  "object-result": "other";
  "response-metadata": "other";
  raw: "other";
  // The documented API names them. No run emits them: a provider's signature is in `providerMetadata`.
  "reasoning-signature": "other";
  "redacted-reasoning": "other";
}

export type ChunkKind = Kinds[NamedType] | "data";

type TypeOf<Kind extends ChunkKind> = {
  [Type in NamedType]: Kinds[Type] extends Kind ? Type : never;
}[NamedType];

/** The chunks of some kinds. */
export type ChunkOf<Kind extends ChunkKind> =
  | Extract<AgentChunk, { type: TypeOf<Kind> }>
  | ("data" extends Kind ? DataChunk : never);

/** For the `default` of a switch over chunk types: names the kinds of the chunks that it leaves out. */
export function ignoreChunk<Kind extends ChunkKind>(_chunk: ChunkOf<Kind>): void {}

/** Whether a chunk is an app's own. */
export function isDataChunk(chunk: AgentChunk): chunk is DataChunk {
  return chunk.type.startsWith("data-");
}
