import { AgentError, errorMessage, showValue } from "../errors.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import type { JsonSchema, SchemaIssue, Validation } from "../schema/schema.ts";
import { checkMetadata } from "../storage/check-id.ts";
import type { AgentControllerConfig } from "./config.ts";

export type State = Record<string, unknown>;

const MAX_STATE_BYTES = 256 << 10;

/** The initial state of a new session, and what a state must be. The state is always validated as a whole. */
export class StateRules {
  readonly #schema: CompiledSchema | undefined;
  readonly initial: State;
  readonly #initialChecked: Promise<void> | undefined;

  constructor(config: Pick<AgentControllerConfig, "stateSchema" | "initialState">) {
    this.#schema = config.stateSchema && compileSchema(config.stateSchema);
    if (config.initialState !== undefined) checkMetadata("initialState", config.initialState);
    this.initial = toJson({ ...this.#defaults(), ...config.initialState });
    if (config.initialState === undefined || !this.#schema) return;
    const checked = this.#schema.validate(this.initial);
    if (checked instanceof Promise) {
      this.#initialChecked = checked.then((done) => this.#requireFit(done));
      this.#initialChecked.catch(() => {}); // Reported when the state is used.
    } else this.#requireFit(checked);
  }

  /** The state of a new session. Throws if the schema, which may be asynchronous, refuses it. */
  async begin(): Promise<State> {
    await this.#initialChecked;
    return this.initial;
  }

  /** The state with changes by key, validated. `undefined` removes a key. */
  async changed(state: State, updates: unknown): Promise<State> {
    const next = toJson({ ...state, ...checkMetadata("The change of a state", updates) });
    if (!this.#schema) return next;
    const checked = await this.#schema.validate(next);
    // The schema may have filled in or changed values.
    if (checked.ok) return toJson(checked.value as State);
    throw mismatch(`The state was not changed: ${showValue(updates)}`, checked.issues);
  }

  /** An initial state may be partial: missing keys are allowed. */
  #requireFit(checked: Validation<unknown>): void {
    if (checked.ok) return;
    const has = (key: unknown) => Object.hasOwn(this.initial, String(key));
    const { required } = this.#json();
    const isPart = Array.isArray(required) && !required.every(has);
    const issues = checked.issues.filter(({ path }) => (path.length === 0 ? !isPart : has(path[0])));
    if (issues.length > 0) throw mismatch(`initialState ${showValue(this.initial)}`, issues);
  }

  #json(): JsonSchema {
    try {
      return this.#schema?.jsonSchema ?? {};
    } catch {
      return {}; // A schema without a JSON form has no readable defaults.
    }
  }

  #defaults(): State {
    const { properties } = this.#json();
    const defaults: State = {};
    for (const [key, property] of Object.entries(Object(properties) as Record<string, unknown>)) {
      const value = (Object(property) as { default?: unknown }).default;
      if (value !== undefined) defaults[key] = value;
    }
    return defaults;
  }
}

function mismatch(what: string, issues: readonly SchemaIssue[]): AgentError {
  const all = issues.map(({ path, message }) => `${path.join(".") || "state"}: ${message}`);
  return new AgentError("invalid-argument", `${what} does not match stateSchema: ${all.join("; ")}`, {
    details: { issues },
  });
}

function toJson(state: State): State {
  const lossy = Object.entries(state).find(([, value]) => !isJson(value, 0));
  if (lossy)
    throw new AgentError(
      "invalid-argument",
      `The state must be JSON, but ${showValue(lossy[0])} is ${showValue(lossy[1])}. Store data that describes it instead.`,
    );
  let text: string;
  try {
    text = JSON.stringify(state);
  } catch (cause) {
    throw new AgentError("invalid-argument", `The state must be JSON-serialisable: ${errorMessage(cause)}`, {
      cause,
    });
  }
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_STATE_BYTES)
    throw new AgentError("limit-exceeded", `The state has ${bytes} bytes; the limit is ${MAX_STATE_BYTES}.`);
  return JSON.parse(text) as State;
}

const MAX_DEPTH = 50;

/** Whether JSON returns the value unchanged. A property without a value may be left out. */
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
