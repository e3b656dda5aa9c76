import { AgentError } from "../errors.ts";
import type { FilterNode, FilterScalar } from "./filter.ts";

/** Hosted stores keep flat metadata: no objects, no null. */
export type FlatMetadata = Record<string, string | number | boolean | string[]>;

const METADATA = "selvedge_metadata";
const DOCUMENT = "selvedge_document";

/** Flattens metadata so that a hosted store can filter by it (`a.b` for `b` inside `a`), plus the whole as JSON. */
export function toFlatMetadata(metadata: string | null, document: string | null): FlatMetadata {
  const flat: FlatMetadata = {};
  if (metadata !== null) {
    flatten(flat, "", JSON.parse(metadata));
    flat[METADATA] = metadata;
  }
  if (document !== null) flat[DOCUMENT] = document;
  return flat;
}

export function fromFlatMetadata(flat: Readonly<Record<string, unknown>> | null | undefined): {
  metadata?: Record<string, unknown>;
  document?: string;
} {
  const { [METADATA]: metadata, [DOCUMENT]: document, ...rest } = flat ?? {};
  const own = typeof metadata === "string" ? (JSON.parse(metadata) as Record<string, unknown> | null) : rest;
  return {
    // Records written by others have no JSON copy.
    ...(own && (own !== rest || Object.keys(rest).length > 0) && { metadata: own }),
    ...(typeof document === "string" && document !== "" && { document }),
  };
}

function flatten(flat: FlatMetadata, prefix: string, value: unknown): void {
  if (Array.isArray(value)) {
    if (value.length > 0 && value.every((item) => typeof item === "string")) flat[prefix] = value;
  } else if (typeof value === "object" && value !== null) {
    for (const [key, item] of Object.entries(value))
      flatten(flat, prefix === "" ? key : `${prefix}.${key}`, item);
  } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    flat[prefix] = value;
  }
}

/**
 * Translates a filter for a hosted store. A condition that the store cannot express with our semantics is refused,
 * never dropped. `exists` says whether it supports `$exists`; without it, nothing can be asked about missing fields.
 */
export function toRemoteFilter(
  node: FilterNode,
  store: { name: string; exists: boolean },
): Record<string, unknown> | undefined {
  switch (node.op) {
    case "and":
    case "or": {
      if (node.nodes.length === 0 && node.op === "and") return undefined;
      const parts = node.nodes.map((item) => toRemoteFilter(item, store));
      const said = parts.filter((part) => part !== undefined);
      // A condition that is always true makes an `or` true and can be dropped from an `and`.
      if (said.length < parts.length && node.op === "or") return undefined;
      if (said.length === 0) throw cannot(store, "a condition that nothing fulfils");
      return said.length === 1 ? said[0] : { [`$${node.op}`]: said };
    }
    case "not":
      return negated(node.node, store);
    case "eq":
      return { [node.path.join(".")]: { $eq: scalar(node.value, store) } };
    case "in":
      if (node.values.length === 0) throw cannot(store, "an empty $in");
      return { [node.path.join(".")]: { $in: node.values.map((value) => scalar(value, store)) } };
    case "gt":
    case "gte":
    case "lt":
    case "lte":
      if (typeof node.value !== "number") throw cannot(store, `$${node.op} of texts`);
      return { [node.path.join(".")]: { [`$${node.op}`]: node.value } };
    case "exists":
      if (!store.exists) throw cannot(store, "$exists");
      return { [node.path.join(".")]: { $exists: true } };
    default:
      throw cannot(store, `$${node.op}`);
  }
}

function negated(node: FilterNode, store: { name: string; exists: boolean }): Record<string, unknown> {
  if (!store.exists) throw cannot(store, "a negation: it cannot tell a missing field");
  if (node.op === "exists") return { [node.path.join(".")]: { $exists: false } };
  if (node.op !== "eq" && node.op !== "in") throw cannot(store, `the negation of $${node.op}`);
  const field = node.path.join(".");
  const differs =
    node.op === "eq"
      ? { $ne: scalar(node.value, store) }
      : { $nin: node.values.map((value) => scalar(value, store)) };
  return { $or: [{ [field]: { $exists: false } }, { [field]: differs }] };
}

function scalar(value: FilterScalar, store: { name: string }): string | number | boolean {
  if (value === null) throw cannot(store, "a comparison with null");
  return value;
}

function cannot(store: { name: string }, what: string): AgentError {
  return new AgentError("not-supported", `Vector filter: ${store.name} does not support ${what}`);
}
