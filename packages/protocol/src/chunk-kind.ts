import type { AgentChunk, DataChunk } from "./chunk.ts";

type NamedType = Exclude<AgentChunk["type"], DataChunk["type"]>;

/**
 * The kind of each chunk type. A reader that handles only some chunks names the kinds it ignores (`ignoreChunk`). A new
 * type does not compile until it has a row here, and a new kind not until every reader handles or ignores it.
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
  // A question was answered; its consequence is an outcome.
  "tool-call-decided": "other";
  object: "other";
  "object-result": "other";
  "response-metadata": "other";
  raw: "other";
  // Named by the documented API, but never emitted: a provider's signature is in `providerMetadata`.
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

/** For the `default` of a switch over chunk types: names the kinds of chunks that it ignores. */
export function ignoreChunk<Kind extends ChunkKind>(_chunk: ChunkOf<Kind>): void {}

/**
 * Whether a chunk reports work of observational memory. It belongs to the thread: its run id may name no run, and it is
 * never a part of an answer.
 */
export function isMemoryChunk(chunk: { type: string }): boolean {
  return chunk.type.startsWith("data-om-");
}

/** Whether a chunk is app-defined. */
export function isDataChunk(chunk: AgentChunk): chunk is DataChunk {
  return chunk.type.startsWith("data-");
}
