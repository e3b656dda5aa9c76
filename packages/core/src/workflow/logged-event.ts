import type { JSONValue, WorkflowChunk } from "@selvedge/protocol";
import { toJson } from "../json.ts";
import { fromLogged, type LoggedResult } from "./logged-result.ts";
import type { Path } from "./path.ts";
import type { Ref } from "./ref.ts";
import { labelOf } from "./run-view.ts";
import { encodeValue } from "./value-codec.ts";

/** An event with its payload. Values that the journal has are references. */
export interface StoredChunk {
  type: string;
  payload?: JSONValue;
  refs?: Record<string, Ref>;
  [key: string]: unknown;
}

/** An event in its row: in full, or as a number if it follows from a result in the same row. See `FOLLOWS`. */
export type StoredEvent = StoredChunk | number;

/** What follows from a result. The event with index i, of the result with index r, is stored as r × 3 + i. */
const FOLLOWS = ["workflow-step-start", "workflow-step-result", "workflow-step-finish"];

export interface EventSource {
  refs?: Readonly<Record<string, Ref>> | undefined;
  of?: Path | undefined;
}

export function toStoredEvent(
  chunk: WorkflowChunk,
  { refs, of }: EventSource,
  results: readonly LoggedResult[],
): StoredEvent {
  const follows = of === undefined || results.length === 0 ? undefined : follow(chunk, of, results);
  if (follows !== undefined) return follows;
  const { runId: _, from: __, ...rest } = chunk;
  if (!("payload" in rest)) return { ...rest, data: toJson(rest.data) };
  if (!refs) return { ...rest, payload: encodePayload(rest.payload) };
  const own = Object.entries(rest.payload).filter(([key]) => !Object.hasOwn(refs, key));
  return { ...rest, payload: encodePayload(Object.fromEntries(own)), refs };
}

function follow({ type }: WorkflowChunk, of: Path, results: readonly LoggedResult[]): number | undefined {
  const index = results.findIndex((result) => (Array.isArray(result) ? result[0] : result.path) === of);
  return index < 0 ? undefined : index * FOLLOWS.length + FOLLOWS.indexOf(type);
}

/** The event with its payload. */
export function fromStoredEvent(
  stored: StoredEvent,
  runId: string,
  results: readonly LoggedResult[],
): StoredChunk {
  if (typeof stored !== "number") return stored;
  const result = fromLogged(results[Math.trunc(stored / FOLLOWS.length)]!);
  const { path } = result;
  const type = FOLLOWS[stored % FOLLOWS.length]!;
  const id = labelOf(path);
  const stepCallId = `${runId}/${path}`;
  const refs = { payload: result.input_ref as Ref };
  switch (type) {
    case "workflow-step-start":
      return { type, payload: { id, stepCallId, status: "running", startedAt: result.started_at }, refs };
    case "workflow-step-result": {
      const output = (result.output_ref as Ref | undefined) ?? path;
      return {
        type,
        payload: { id, stepCallId, status: "success", endedAt: result.ended_at as number },
        refs: { ...refs, output },
      };
    }
    default:
      return { type, payload: { id, metadata: (result.metadata as JSONValue | undefined) ?? {} } };
  }
}

/** An event must not fail the commit it goes with. */
function encodePayload(payload: object): JSONValue {
  try {
    return encodeValue(payload, "event");
  } catch {
    return toJson(payload) as JSONValue;
  }
}
