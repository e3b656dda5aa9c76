import type { Commit } from "./driver.ts";

/**
 * The keys of a commit: the given one, and the values its writes have in the `partition` columns of their tables.
 * Sorted, so that drivers that lock them never deadlock.
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
