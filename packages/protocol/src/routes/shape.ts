import type { JSONValue } from "../json.ts";

/** A JSON Schema (2020-12) that the compiler knows the type of. At run time it is the plain schema. */
export type Shape<Type> = { readonly [keyword: string]: unknown } & { readonly [TYPE]?: Type };

/** The shape of a key that may be absent. */
export interface OptionalShape<Type> {
  readonly optional: Shape<Type>;
}

declare const TYPE: unique symbol;

/** Every key of the type needs a shape, optional where the key is; no other key has one. */
export type Properties<Type> = {
  [Key in keyof Type]-?: Record<never, never> extends Pick<Type, Key>
    ? OptionalShape<Exclude<Type[Key], undefined>>
    : Shape<Type[Key]>;
};

type Words = { title?: string; description?: string };

const MAX_ID = 256;

export function optional<Type>(shape: Shape<Type>): OptionalShape<Type> {
  return { optional: shape };
}

/** An object with these keys and no others. */
export function object<Type extends object>(properties: Properties<Type>, words: Words = {}): Shape<Type> {
  return { ...openObject<Type>(properties, words), additionalProperties: false };
}

/** An object with at least these keys: for answers, which may grow. */
export function openObject<Type extends object>(
  properties: Partial<Properties<Type>>,
  words: Words = {},
): Shape<Type> {
  const entries = Object.entries(properties) as [string, Shape<unknown> | OptionalShape<unknown>][];
  const isOptional = (shape: object): shape is OptionalShape<unknown> => "optional" in shape;
  const required = entries.filter(([, shape]) => !isOptional(shape)).map(([key]) => key);
  return {
    type: "object",
    ...words,
    properties: Object.fromEntries(
      entries.map(([key, shape]) => [key, isOptional(shape) ? shape.optional : shape]),
    ),
    ...(required.length > 0 && { required }),
  };
}

export function record<Value>(value: Shape<Value>): Shape<Record<string, Value>> {
  return { type: "object", additionalProperties: value };
}

export function list<Item>(item: Shape<Item>, limits: { maxItems?: number } = {}): Shape<Item[]> {
  return { type: "array", items: item, ...limits };
}

export function text(
  limits: { minLength?: number; maxLength?: number; description?: string } = {},
): Shape<string> {
  return { type: "string", ...limits };
}

/** A name from outside: not empty, of bounded length. */
export function id(description?: string): Shape<string> {
  return {
    type: "string",
    minLength: 1,
    maxLength: MAX_ID,
    ...(description !== undefined && { description }),
  };
}

export function oneOf<const Value extends string>(...values: Value[]): Shape<Value> {
  return { type: "string", enum: values };
}

export function only<const Value extends string | number | boolean | null>(value: Value): Shape<Value> {
  return { const: value };
}

export function integer(limits: { minimum?: number; maximum?: number } = {}): Shape<number> {
  return { type: "integer", ...limits };
}

export function number(limits: { minimum?: number; maximum?: number } = {}): Shape<number> {
  return { type: "number", ...limits };
}

export function flag(): Shape<boolean> {
  return { type: "boolean" };
}

/** A time as ISO text. */
export function time(): Shape<string> {
  return { type: "string", format: "date-time" };
}

export function either<Types extends readonly unknown[]>(
  ...shapes: { [Index in keyof Types]: Shape<Types[Index]> }
): Shape<Types[number]> {
  return { anyOf: shapes };
}

/** Any JSON. */
export function json(description?: string): Shape<JSONValue> {
  return description === undefined ? {} : { description };
}

/** Anything JSON can hold, whose type is looked at further in. */
export function anything<Type = unknown>(description?: string): Shape<Type> {
  return description === undefined ? {} : { description };
}

export function anyObject<Type extends object = Record<string, unknown>>(description?: string): Shape<Type> {
  return { type: "object", ...(description !== undefined && { description }) };
}

/** What is defined once, under `components.schemas`. */
export function named<Type>(name: string, shape: Shape<Type>): Shape<Type> {
  return { title: name, ...shape };
}
