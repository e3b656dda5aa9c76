import { AgentError } from "../errors.ts";

/** Things of a host by the names they were registered with. */
export type Registry<Value> = Record<string, Value>;

interface Identified {
  readonly id: string;
}

export function byName<Value>(registry: Registry<Value> | undefined, name: string, kind: string): Value {
  if (registry && Object.hasOwn(registry, name)) return registry[name] as Value;
  throw missing(kind, name, Object.keys(registry ?? {}));
}

export function byId<Value extends Identified>(
  registry: Registry<Value> | undefined,
  id: string,
  kind: string,
): Value {
  const all = Object.values(registry ?? {});
  const found = all.find((one) => one.id === id);
  if (found) return found;
  throw missing(
    `${kind} with id`,
    id,
    all.map((one) => one.id),
  );
}

/** A registered name counts before an id. */
export function byNameOrId<Value extends Identified>(
  registry: Registry<Value> | undefined,
  name: string,
  kind: string,
): Value {
  const isName = registry && Object.hasOwn(registry, name);
  const found = isName ? undefined : Object.values(registry ?? {}).find((one) => one.id === name);
  return found ?? byName(registry, name, kind);
}

/** One thing may have several names, but no two the same id. */
export function checkIds(registry: Registry<Identified>, kind: string): void {
  const seen = new Map<string, { name: string; one: Identified }>();
  for (const [name, one] of Object.entries(registry)) {
    const other = seen.get(one.id);
    if (other && other.one !== one)
      throw new AgentError(
        "invalid-argument",
        `${kind} "${other.name}" and "${name}" have the same id "${one.id}". Give each its own.`,
      );
    seen.set(one.id, { name, one });
  }
}

function missing(kind: string, name: string, known: string[]): AgentError {
  const list = known.length > 0 ? `Registered: ${known.join(", ")}.` : "None is registered.";
  return new AgentError("not-found", `There is no ${kind} "${name}". ${list}`);
}
