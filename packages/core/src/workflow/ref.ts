/**
 * Where a stored value is: the input of the run (`""`), the output at a path, an item of a list, or values put together by
 * a block of steps. An input is stored as a reference wherever it is one, so a large output is stored once.
 */
export type Ref =
  | string
  | { of: Ref; item: number }
  | { object: Readonly<Record<string, Ref>> }
  | { list: string; count: number };

/** A value in a run, and where the store has it. */
export interface Value {
  readonly data: unknown;
  readonly ref?: Ref | undefined;
}

/** The run's input. */
export const INPUT_REF = "";

/** The value behind a reference. `outputAt` returns the output stored at a path. */
export function resolveRef(ref: Ref, input: unknown, outputAt: (path: string) => unknown): unknown {
  const resolve = (one: Ref): unknown => {
    if (one === INPUT_REF) return input;
    if (typeof one === "string") return outputAt(one);
    if ("of" in one) return (resolve(one.of) as readonly unknown[] | undefined)?.[one.item];
    if ("list" in one)
      return Array.from({ length: one.count }, (_, index) => outputAt(`${one.list}[${index}]`));
    return Object.fromEntries(Object.entries(one.object).map(([key, part]) => [key, resolve(part)]));
  };
  return resolve(ref);
}

/** The paths whose outputs a reference needs. */
export function pathsOf(ref: Ref): string[] {
  if (ref === INPUT_REF) return [];
  if (typeof ref === "string") return [ref];
  if ("of" in ref) return pathsOf(ref.of);
  if ("list" in ref) return Array.from({ length: ref.count }, (_, index) => `${ref.list}[${index}]`);
  return Object.values(ref.object).flatMap(pathsOf);
}
