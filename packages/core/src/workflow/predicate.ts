import { isObject } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";
import type { Condition } from "./graph.ts";

type Scalar = string | number | boolean | null;
/** A value of the run, such as `inputData.price`, or a constant. */
export type Operand = { path: string } | { literal: Scalar };

const COMPARISONS = { eq: "=", ne: "≠", lt: "<", lte: "≤", gt: ">", gte: "≥" } as const;
type Comparison = keyof typeof COMPARISONS;

/** A condition as data. */
export type Predicate =
  | { op: Comparison; left: Operand; right: Operand }
  | { op: "in" | "notIn"; value: Operand; set: readonly Scalar[] }
  | { op: "exists" | "notExists"; path: string }
  | { op: "truthy" | "falsy"; value: Operand }
  | { op: "and" | "or"; args: readonly Predicate[] }
  | { op: "not"; arg: Predicate };

/** What a branch or a loop accepts. */
export type ConditionInput<Input = any, State = any> =
  | Condition<Input, State>
  | Predicate
  | { predicate: Predicate };

/** The values that paths lead into. */
export interface PredicateContext {
  inputData: unknown;
  state: unknown;
  getInitData(): unknown;
  getStepResult(stepId: string): unknown;
}

type Test = (context: PredicateContext) => boolean;
type Read = (context: PredicateContext) => unknown;

const ROOTS = ["initData", "inputData", "stepResults", "state"] as const;
const MISSING: unique symbol = Symbol("missing");
const MAX_DEPTH = 20;
const MAX_ITEMS = 1000;
const MAX_PATH = 1000;

/** A condition from a function or a predicate. A predicate is checked now, and costs no more than a function later. */
export function toCondition(input: ConditionInput, place: string = "predicate"): Condition {
  if (typeof input === "function") return input;
  const predicate = predicateIn(input);
  const test = compilePredicate(predicate, place);
  // A graph shows conditions as text.
  return Object.assign((context: Parameters<Condition>[0]) => test(context), {
    toString: () => describePredicate(predicate),
  });
}

function predicateIn(input: Exclude<ConditionInput, Condition>): Predicate {
  return isObject(input) && "predicate" in input ? input.predicate : (input as Predicate);
}

/**
 * Throws `invalid-argument` with the place of what is wrong. The result never throws: a path that leads nowhere makes a
 * comparison, `in` and `truthy` false, and `notIn`, `notExists` and `falsy` true.
 */
export function compilePredicate(predicate: unknown, place: string = "predicate", depth: number = 0): Test {
  if (!isObject(predicate)) throw bad(place, "must be a predicate", predicate);
  if (depth > MAX_DEPTH) throw bad(place, `is nested more than ${MAX_DEPTH} levels deep`, predicate["op"]);
  const { op } = predicate;
  const nested = (value: unknown, at: string): Test => compilePredicate(value, `${place}.${at}`, depth + 1);
  switch (op) {
    case "eq":
    case "ne":
    case "lt":
    case "lte":
    case "gt":
    case "gte":
      return compare(
        op,
        toRead(predicate["left"], `${place}.left`),
        toRead(predicate["right"], `${place}.right`),
      );
    case "in":
    case "notIn": {
      const set = new Set(
        checkList(predicate["set"], `${place}.set`).map((item, index) =>
          toScalar(item, `${place}.set.${index}`),
        ),
      );
      const read = toRead(predicate["value"], `${place}.value`);
      return (context) => set.has(read(context) as Scalar) === (op === "in");
    }
    case "exists":
    case "notExists": {
      const read = toPath(predicate["path"], `${place}.path`);
      return (context) => (read(context) !== MISSING) === (op === "exists");
    }
    case "truthy":
    case "falsy": {
      const read = toRead(predicate["value"], `${place}.value`);
      return (context) => {
        const value = read(context);
        return (value !== MISSING && Boolean(value)) === (op === "truthy");
      };
    }
    case "and":
    case "or": {
      const tests = checkList(predicate["args"], `${place}.args`).map((arg, index) =>
        nested(arg, `args.${index}`),
      );
      return op === "and"
        ? (context) => tests.every((test) => test(context))
        : (context) => tests.some((test) => test(context));
    }
    case "not": {
      const test = nested(predicate["arg"], "arg");
      return (context) => !test(context);
    }
    default:
      throw bad(`${place}.op`, "is not an operator", op);
  }
}

function compare(op: Comparison, left: Read, right: Read): Test {
  return (context) => {
    const a = left(context);
    const b = right(context);
    if (a === MISSING || b === MISSING) return false;
    const order = orderOf(a, b);
    switch (op) {
      case "eq":
        return order === 0;
      case "ne":
        return order !== 0;
      case "lt":
        return order === -1;
      case "gt":
        return order === 1;
      case "lte":
        return order === 0 || order === -1;
      case "gte":
        return order === 0 || order === 1;
    }
  };
}

/** Nothing if the values are different and have no order. */
function orderOf(a: unknown, b: unknown): -1 | 0 | 1 | undefined {
  if (a === b) return 0;
  const [x, y] = [a instanceof Date ? a.getTime() : a, b instanceof Date ? b.getTime() : b];
  if (x === y && a instanceof Date === b instanceof Date) return 0;
  const isOrdered = typeof x === typeof y && ["number", "string", "bigint"].includes(typeof x);
  if (!isOrdered || a instanceof Date !== b instanceof Date) return undefined;
  return (x as number) < (y as number) ? -1 : (x as number) > (y as number) ? 1 : undefined;
}

function toRead(operand: unknown, place: string): Read {
  if (isObject(operand) && "path" in operand) return toPath(operand["path"], `${place}.path`);
  if (!isObject(operand) || !("literal" in operand))
    throw bad(place, "must be { path } or { literal }", operand);
  const literal = toScalar(operand["literal"], `${place}.literal`);
  return () => literal;
}

function toScalar(value: unknown, place: string): Scalar {
  if (value === null || ["string", "number", "boolean"].includes(typeof value)) return value as Scalar;
  throw bad(place, "must be text, a number, a boolean or null", value);
}

function checkList(value: unknown, place: string): unknown[] {
  if (!Array.isArray(value)) throw bad(place, "must be a list", value);
  if (value.length > MAX_ITEMS) throw bad(place, `must have at most ${MAX_ITEMS} items`, value.length);
  return value as unknown[];
}

/** Reads what a path leads to, or `MISSING`. Only an object's own properties count. */
function toPath(path: unknown, place: string): Read {
  if (typeof path === "string" && path.length > MAX_PATH)
    throw bad(place, `must have at most ${MAX_PATH} characters`, path.length);
  const plain = typeof path === "string" ? path.replace(/^\$\{(.*)\}$/, "$1").trim() : "";
  const [root, ...keys] = plain.split(".");
  if (!ROOTS.some((known) => known === root) || keys.includes(""))
    throw bad(place, `must begin with ${ROOTS.join(", ")}`, path);
  switch (root) {
    case "initData":
      return (context) => walk(context.getInitData(), keys);
    case "inputData":
      return (context) => walk(context.inputData, keys);
    case "state":
      return (context) => walk(context.state, keys);
    default:
      if (keys.length === 0) throw bad(place, "must name a step: stepResults.<id>", path);
      return (context) => stepResult(context, keys);
  }
}

/** Reads what a path leads to; `undefined` if it leads nowhere. */
export function readPath(path: unknown, place: string): Read {
  const read = toPath(path, place);
  return (context) => {
    const value = read(context);
    return value === MISSING ? undefined : value;
  };
}

/** Ids of steps may contain dots. The shortest that has a result counts. */
function stepResult(context: PredicateContext, keys: readonly string[]): unknown {
  for (let length = 1; length <= keys.length; length++) {
    const result = context.getStepResult(keys.slice(0, length).join("."));
    if (result !== null && result !== undefined) return walk(result, keys.slice(length));
  }
  return MISSING;
}

function walk(value: unknown, keys: readonly string[]): unknown {
  let found = value;
  for (const key of keys) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, key)) return MISSING;
    found = (found as Record<string, unknown>)[key];
  }
  return found === undefined ? MISSING : found;
}

/** In short, for graphs. */
export function describePredicate(predicate: Predicate): string {
  switch (predicate.op) {
    case "in":
    case "notIn": {
      const word = predicate.op === "in" ? "in" : "not in";
      return `${describeOperand(predicate.value)} ${word} ${JSON.stringify(predicate.set)}`;
    }
    case "exists":
    case "notExists":
      return `${predicate.path} ${predicate.op === "exists" ? "exists" : "is missing"}`;
    case "truthy":
      return describeOperand(predicate.value);
    case "falsy":
      return `not ${describeOperand(predicate.value)}`;
    case "and":
    case "or":
      if (predicate.args.length === 0) return String(predicate.op === "and");
      return predicate.args.map((arg) => within(describePredicate(arg), arg)).join(` ${predicate.op} `);
    case "not":
      return `not ${within(describePredicate(predicate.arg), predicate.arg)}`;
    default:
      return `${describeOperand(predicate.left)} ${COMPARISONS[predicate.op]} ${describeOperand(predicate.right)}`;
  }
}

function within(text: string, { op }: Predicate): string {
  return op === "and" || op === "or" ? `(${text})` : text;
}

function describeOperand(operand: Operand): string {
  return "path" in operand ? operand.path : JSON.stringify(operand.literal);
}

function bad(place: string, rule: string, value: unknown): AgentError {
  return new AgentError("invalid-argument", `${place} ${rule}, got ${showValue(value)}.`);
}
