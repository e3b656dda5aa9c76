const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  sec: 1000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hrs: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of `300000`, `"300000"`, `"5m"`, `"1hr"` or `"1.5 h"`. `undefined` if it cannot be read. */
export function readDuration(value: unknown): number | undefined {
  if (typeof value === "number") return Number.isFinite(value) && value >= 0 ? value : undefined;
  if (typeof value !== "string") return undefined;
  const [, amount, unit = "ms"] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*$/i.exec(value) ?? [];
  const factor = UNITS[unit.toLowerCase() || "ms"];
  return amount === undefined || factor === undefined ? undefined : Number(amount) * factor;
}
