import type { AgentChunk, DataChunk } from "./chunk.ts";

type NamedType = Exclude<AgentChunk["type"], DataChunk["type"]>;

/**
 * What each chunk type is about. A reader that handles only some chunks names the kinds it leaves out (`ignoreChunk`),
 * so a new type does not compile until it has a row here and every reader of its kind handles it.
 */
const KINDS = {
  start: "run",
  finish: "run",
  error: "run",
  abort: "run",
  tripwire: "run",
  "step-start": "step",
  "step-finish": "step",
  "text-start": "text",
  "text-delta": "text",
  "text-end": "text",
  "reasoning-start": "reasoning",
  "reasoning-delta": "reasoning",
  "reasoning-end": "reasoning",
  source: "attachment",
  file: "attachment",
  "tool-call-input-streaming-start": "input",
  "tool-call-delta": "input",
  "tool-call-input-streaming-end": "input",
  "tool-call": "call",
  "tool-call-approval": "question",
  "tool-call-suspended": "question",
  "tool-output": "progress",
  "tool-result": "outcome",
  "tool-error": "outcome",
  "tool-output-denied": "outcome",
  object: "object",
  "object-result": "object",
  "response-metadata": "reply",
  raw: "reply",
  // The documented API names them. No run emits them: a provider's signature is in `providerMetadata`.
  "reasoning-signature": "unused",
  "redacted-reasoning": "unused",
} as const satisfies Record<NamedType, string>;

type Kinds = typeof KINDS;
export type ChunkKind = Kinds[NamedType] | "data";

type TypeOf<Kind extends ChunkKind> = {
  [Type in NamedType]: Kinds[Type] extends Kind ? Type : never;
}[NamedType];

/** The chunks of some kinds. */
export type ChunkOf<Kind extends ChunkKind> =
  | Extract<AgentChunk, { type: TypeOf<Kind> }>
  | ("data" extends Kind ? DataChunk : never);

/** For the `default` of a switch over chunk types: names the kinds that it leaves out, each of them whole. */
export function ignoreChunk<Kind extends ChunkKind>(_chunk: ChunkOf<Kind>): void {}

/** Whether a chunk is an app's own. */
export function isDataChunk(chunk: AgentChunk): chunk is DataChunk {
  return chunk.type.startsWith("data-");
}
