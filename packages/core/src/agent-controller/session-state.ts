import { AgentError, errorMessage, showValue } from "../errors.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import { checkMetadata } from "../storage/check-id.ts";
import type { AgentControllerConfig } from "./config.ts";

export type State = Record<string, unknown>;

const MAX_STATE_BYTES = 256 << 10;

/** Where the state of a new session begins, and what a state must be. Every check is of the state as a whole. */
export class StateRules {
  readonly #schema: CompiledSchema | undefined;
  readonly initial: State;

  constructor(config: Pick<AgentControllerConfig, "stateSchema" | "initialState">) {
    this.#schema = config.stateSchema && compileSchema(config.stateSchema);
    if (config.initialState !== undefined) checkMetadata("initialState", config.initialState);
    this.initial = toJson({ ...this.#defaults(), ...config.initialState });
  }

  /** The state with changes by key, checked. `undefined` takes a key away. */
  async changed(state: State, updates: unknown): Promise<State> {
    const next = toJson({ ...state, ...checkMetadata("The change of a state", updates) });
    if (!this.#schema) return next;
    const checked = await this.#schema.validate(next);
    // The schema may have filled in or changed values.
    if (checked.ok) return toJson(checked.value as State);
    const issues = checked.issues.map(({ path, message }) => `${path.join(".") || "state"}: ${message}`);
    throw new AgentError(
      "invalid-argument",
      `The state was not changed: ${showValue(updates)} does not match stateSchema: ${issues.join("; ")}`,
      { details: { issues: checked.issues } },
    );
  }

  #defaults(): State {
    if (!this.#schema) return {};
    let properties: unknown;
    try {
      properties = this.#schema.jsonSchema["properties"];
    } catch {
      return {}; // A schema without a JSON form has no defaults that could be read.
    }
    const defaults: State = {};
    for (const [key, property] of Object.entries(Object(properties) as Record<string, unknown>)) {
      const value = (Object(property) as { default?: unknown }).default;
      if (value !== undefined) defaults[key] = value;
    }
    return defaults;
  }
}

function toJson(state: State): State {
  const lossy = Object.entries(state).find(([, value]) => !isJson(value, 0));
  if (lossy)
    throw new AgentError(
      "invalid-argument",
      `The state is JSON, and ${showValue(lossy[0])} is ${showValue(lossy[1])}. Store what describes it instead.`,
    );
  let text: string;
  try {
    text = JSON.stringify(state);
  } catch (cause) {
    throw new AgentError("invalid-argument", `The state is not JSON: ${errorMessage(cause)}`, { cause });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_STATE_BYTES)
    throw new AgentError("limit-exceeded", `The state has ${bytes} bytes; the limit is ${MAX_STATE_BYTES}.`);
  return JSON.parse(text) as State;
}

const MAX_DEPTH = 50;

/** Whether JSON gives the value back as it is. A property without a value may be left out. */
function isJson(value: unknown, depth: number): boolean {
  if (value === null || value === undefined || typeof value === "string" || typeof value === "boolean")
    return true;
  if (typeof value === "number") return Number.isFinite(value);
  if (typeof value !== "object" || depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => item !== undefined && isJson(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  return Object.values(value).every((item) => isJson(item, depth + 1));
}
