/** A number and what is counted, in the singular or the plural: `1 note`, `2 notes`. */
export function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
