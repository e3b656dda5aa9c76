/**
 * The reserved names in the first argument of a tool's `execute`. They describe the call and never come from its input.
 */
export const TOOL_CALL_NAMES = [
  "context",
  "requestContext",
  "runtimeContext",
  "mastra",
  "runId",
  "threadId",
  "resourceId",
] as const;

type ToolCallName = (typeof TOOL_CALL_NAMES)[number];

/**
 * The first argument of a tool's `execute`: the fields of the input, plus the reserved names as non-enumerable
 * properties. `Call` types those. An input that is not an object is only in `context`.
 */
export type ToolArgument<Input, Call extends { context: Input }> = 0 extends 1 & Input
  ? Call & { [field: string]: Input }
  : WithFields<Input, Call>;

type WithFields<Input, Call> = Input extends object
  ? (Extract<keyof Input, ToolCallName> extends never ? Input : Omit<Input, ToolCallName>) & Call
  : Call;

/**
 * Creates that argument. Reserved names override fields of the input: the model writes the input and must not choose
 * whose data a tool reads. The input itself is not modified, because a schema may return a shared object.
 */
export function toolArgument(input: unknown, where: Partial<Record<ToolCallName, unknown>>): unknown {
  if (typeof input !== "object" || input === null) return describeCall(input, where);
  if (Array.isArray(input)) return define(input.slice(), input, where);
  if (isPlain(input)) return define({ ...input }, input, where);
  return overlay(input, describeCall(input, where));
}

function describeCall(
  input: unknown,
  where: Partial<Record<ToolCallName, unknown>>,
): Record<string, unknown> {
  const call: Record<string, unknown> = {};
  for (const name of TOOL_CALL_NAMES) call[name] = where[name];
  call["context"] = input;
  return call;
}

function define(target: object, input: object, where: Partial<Record<ToolCallName, unknown>>): object {
  for (const name of TOOL_CALL_NAMES) {
    const value = name === "context" ? input : where[name];
    // A missing value needs no property, unless the input has one of that name.
    if (value === undefined && !(name in target)) continue;
    Object.defineProperty(target, name, { value, enumerable: false, writable: true, configurable: true });
  }
  return target;
}

function isPlain(input: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(input);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A class instance cannot be copied. Its methods and accessors run on the instance, which has its private fields. */
function overlay(input: object, call: Record<string, unknown>): object {
  const isFixed = (name: string) => Object.getOwnPropertyDescriptor(input, name)?.configurable === false;
  // A proxy must not contradict such a property.
  if (TOOL_CALL_NAMES.some(isFixed)) return call;
  return new Proxy(input, {
    get(target, key) {
      if (typeof key === "string" && Object.hasOwn(call, key)) return call[key];
      const value: unknown = Reflect.get(target, key, target);
      const isMethod = typeof value === "function" && key !== "constructor" && !Object.hasOwn(target, key);
      return isMethod ? (value.bind(target) as unknown) : value;
    },
    set: (target, key, value) => Reflect.set(target, key, value, target),
    has: (target, key) => (typeof key === "string" && Object.hasOwn(call, key)) || Reflect.has(target, key),
  });
}
