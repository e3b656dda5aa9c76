import { AgentError } from "@selvedge/core";
import { type Call, ownerOf } from "../handler.ts";
import { checkOver, findResponse, readResponse, toResponseId } from "./stored-responses.ts";

type Json = Record<string, unknown>;
type ReferringCall = Pick<Call<"responses">, "app" | "caller" | "resourceId"> & {
  readonly body: { readonly input: string | readonly Json[] };
};

const MOST_REFERENCES = 1000;

/** Replaces each `item_reference` in an input with the item it names, from earlier responses of the same resource. */
export async function resolveReferences(call: ReferringCall): Promise<string | Json[]> {
  const { input } = call.body;
  if (typeof input === "string") return input;
  const ids = new Set(input.filter(isReference).map(({ id }) => toItemId(id)));
  if (ids.size === 0) return [...input];
  if (ids.size > MOST_REFERENCES)
    throw new AgentError(
      "limit-exceeded",
      `body.input has ${ids.size} item references; at most ${MOST_REFERENCES} are allowed. Pass previous_response_id instead.`,
    );
  const items = new Map<unknown, Json>();
  for (const id of ids)
    if (!items.has(id)) for (const item of await itemsBeside(id, call)) items.set(item["id"], item);
  return input.map((item) => {
    if (!isReference(item)) return item;
    const found = items.get(item["id"]);
    if (found) return found;
    throw new AgentError(
      "not-found",
      `There is no item "${String(item["id"])}". If its response was not stored, send the item itself, with store: false.`,
    );
  });
}

/** The output of the response that an item's id names. */
async function itemsBeside(id: string, call: ReferringCall): Promise<readonly Json[]> {
  const [, ofMessage, ofCall] = /^(?:msg_(.+)|fc_([^_]+)_.+)$/s.exec(id) ?? [];
  const runId = ofMessage ?? ofCall;
  if (runId === undefined) return [];
  const owner = ownerOf(call);
  const kept = call.app.keptItems.get(runId);
  if (kept) return kept.owner === owner ? kept.items : [];
  const found = await findResponse(call.app, toResponseId(runId));
  if (!found || found.response.resourceId !== owner) return [];
  await checkOver(found);
  return (await readResponse(found, call.caller))["output"] as Json[];
}

function isReference({ type }: Json): boolean {
  return type === "item_reference";
}

function toItemId(id: unknown): string {
  if (typeof id === "string" && id !== "" && id.length <= 512) return id;
  throw new AgentError("invalid-argument", "body.input: an item_reference needs the id of an item.");
}
