/** A value without maps and times, for comparisons. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, item: unknown) => (item instanceof Map ? [...item] : item)),
  ) as unknown;
}
