import type { JSONValue } from "../json.ts";

/**
 * A JSON Schema (2020-12) with static types. `Type` is what a reader of the JSON gets; `Given` is what a writer may
 * pass to `JSON.stringify`, for example a `Date` for a time. At run time it is the plain schema.
 */
export interface Shape<Type = unknown, Given = Type> {
  readonly [keyword: string]: unknown;
  readonly [TYPE]: Type;
  readonly [GIVEN]: Given;
}

/** The shape of an optional key. */
export interface OptionalShape<Type = unknown, Given = Type> {
  readonly [OPTIONAL]: true;
  readonly shape: Shape<Type, Given>;
}

/** What a reader of the JSON gets. */
export type TypeOf<S> = S extends Shape<infer Type, unknown> ? Type : never;

/** What a writer may pass. */
export type GivenOf<S> = S extends Shape<unknown, infer Given> ? Given : never;

declare const TYPE: unique symbol;
declare const GIVEN: unique symbol;
const OPTIONAL: unique symbol = Symbol("optional");

type Properties = Readonly<Record<string, Shape | OptionalShape>>;
type Flat<Type> = Type extends infer Part ? { [Key in keyof Part]: Part[Key] } : never;
type OptionalKeys<P> = { [Key in keyof P]: P[Key] extends OptionalShape ? Key : never }[keyof P];
/** Without renaming keys, so that editors show their comments. */
type Required<P> = Pick<P, Exclude<keyof P, OptionalKeys<P>>>;
type Optional<P> = Pick<P, OptionalKeys<P>>;
type Inner<O> = O extends OptionalShape<infer Type, infer Given> ? Shape<Type, Given> : never;

type ObjectType<P> = Flat<
  { [Key in keyof Required<P>]: TypeOf<Required<P>[Key]> } & {
    [Key in keyof Optional<P>]?: TypeOf<Inner<Optional<P>[Key]>>;
  }
>;
/** JSON omits `undefined` keys. */
type ObjectGiven<P> = Flat<
  { [Key in keyof Required<P>]: GivenOf<Required<P>[Key]> } & {
    [Key in keyof Optional<P>]?: GivenOf<Inner<Optional<P>[Key]>> | undefined;
  }
>;

type ObjectShape<P> = Shape<ObjectType<P>, ObjectGiven<P>>;

const MAX_ID = 256;

function shape<S extends Shape>(schema: object): S {
  return schema as S;
}

export function optional<Type, Given>(of: Shape<Type, Given>): OptionalShape<Type, Given> {
  return { [OPTIONAL]: true, shape: of };
}

/** An object with exactly these keys. */
export function object<P extends Properties>(properties: P): ObjectShape<P> {
  return shape({ ...openObject(properties), additionalProperties: false });
}

/** An object with at least these keys: for responses, which may grow. */
export function openObject<P extends Properties>(properties: P): ObjectShape<P> {
  const entries = Object.entries(properties);
  const required = entries.filter(([, of]) => !isOptional(of)).map(([key]) => key);
  return shape({
    type: "object",
    properties: Object.fromEntries(entries.map(([key, of]) => [key, isOptional(of) ? of.shape : of])),
    ...(required.length > 0 && { required }),
  });
}

function isOptional(of: Shape | OptionalShape): of is OptionalShape {
  return OPTIONAL in of;
}

export function record<Type, Given>(
  value: Shape<Type, Given>,
): Shape<Record<string, Type>, Readonly<Record<string, Given>>> {
  return shape({ type: "object", additionalProperties: value });
}

export function list<Type, Given>(
  item: Shape<Type, Given>,
  limits: { maxItems?: number } = {},
): Shape<Type[], readonly Given[]> {
  return shape({ type: "array", items: item, ...limits });
}

export function text(
  limits: { minLength?: number; maxLength?: number; description?: string } = {},
): Shape<string> {
  return shape({ type: "string", ...limits });
}

/** An external name: not empty, of bounded length. */
export function id(description?: string): Shape<string> {
  return text({ minLength: 1, maxLength: MAX_ID, ...(description !== undefined && { description }) });
}

export function oneOf<const Value extends string>(...values: Value[]): Shape<Value> {
  return shape({ type: "string", enum: values });
}

export function only<const Value extends string | number | boolean>(value: Value): Shape<Value> {
  return shape({ const: value });
}

export function integer(limits: { minimum?: number; maximum?: number } = {}): Shape<number> {
  return shape({ type: "integer", ...limits });
}

export function number(limits: { minimum?: number; maximum?: number } = {}): Shape<number> {
  return shape({ type: "number", ...limits });
}

export function flag(): Shape<boolean> {
  return shape({ type: "boolean" });
}

/** A time as ISO text. */
export function time(): Shape<string, Date | string> {
  return shape({ type: "string", format: "date-time" });
}

export function either<const Shapes extends readonly Shape[]>(
  ...shapes: Shapes
): Shape<TypeOf<Shapes[number]>, GivenOf<Shapes[number]>> {
  return shape({ anyOf: shapes });
}

export function nothing(): Shape<null> {
  return shape({ type: "null" });
}

/** Any JSON. */
export function json(): Shape<JSONValue> {
  return shape({});
}

/** Any JSON, with a type the schema does not describe. */
export function anything<Type = unknown, Given = Type>(): Shape<Type, Given> {
  return shape({});
}

export function anyObject(description?: string): Shape<Record<string, unknown>, object> {
  return objectLike<never>(description);
}

/** An object with a type the schema does not describe. */
export function objectLike<Type extends object>(description?: string): Shape<Type> {
  return shape({ type: "object", ...(description !== undefined && { description }) });
}

/** A shape that OpenAPI defines once, under `components.schemas`. */
export function named<S extends Shape>(name: string, of: S): S {
  return { title: name, ...of };
}
