import type { Commit } from "./driver.ts";

/**
 * What a commit is about: the key it was given, and the values its writes have in the `partition` columns of their tables.
 * In order, so that drivers that lock them never wait for each other in a circle.
 */
export function keysOf({ key, writes }: Commit): string[] {
  const keys = new Set<string>(key === undefined ? [] : typeof key === "string" ? [key] : key);
  for (const write of writes) {
    const { partition } = write.table;
    if (partition === undefined) continue;
    const value = (write.op === "insert" ? write.row : write.where)[partition];
    if (typeof value === "string") keys.add(value);
    else if (typeof value === "object" && value !== null && "in" in value)
      for (const one of value.in as readonly unknown[]) if (typeof one === "string") keys.add(one);
  }
  return [...keys].sort();
}
