import { describe, expect, it } from "vitest";
import { parseCron } from "./cron.ts";

const DAY = 24 * 3_600_000;

function times(pattern: string, timezone: string, from: string, count: number): string[] {
  const next = parseCron(pattern, timezone);
  const found: string[] = [];
  for (let at = Date.parse(from); found.length < count; found.push(new Date(at).toISOString()))
    at = next(at)!;
  return found;
}

describe("parseCron", () => {
  it("follows the clocks of a zone into summer and back", () => {
    const spring = times("0 9 * * *", "Europe/Berlin", "2027-03-27T00:00:00Z", 2);
    expect(spring).toEqual(["2027-03-27T08:00:00.000Z", "2027-03-28T07:00:00.000Z"]);
    const autumn = times("0 9 * * *", "Europe/Berlin", "2027-10-30T00:00:00Z", 2);
    expect(autumn).toEqual(["2027-10-30T07:00:00.000Z", "2027-10-31T08:00:00.000Z"]);
  });

  it("fires once on a day on which the time does not exist, and once on one on which it exists twice", () => {
    const days = (from: string, count: number) =>
      times("30 2 * * *", "Europe/Berlin", from, count).map((at) => at.slice(0, 10));
    expect(days("2027-03-26T12:00:00Z", 3)).toEqual(["2027-03-27", "2027-03-28", "2027-03-29"]);
    expect(days("2027-10-29T12:00:00Z", 3)).toEqual(["2027-10-30", "2027-10-31", "2027-11-01"]);
  });

  it("always goes forward", () => {
    for (const pattern of ["* * * * *", "*/7 * * * * *", "0 0 29 2 *", "0 0 * * 1", "0 0 0 1 1 * 2030"]) {
      const next = parseCron(pattern, "America/New_York");
      for (let at: number | undefined = 0, left = 50; at !== undefined && left > 0; left--) {
        const found: number | undefined = next(at);
        if (found !== undefined) expect(found).toBeGreaterThan(at);
        at = found === undefined ? undefined : found + DAY;
      }
    }
  });

  it("has no time after the last year", () => {
    expect(parseCron("0 0 0 1 1 * 2030", "UTC")(Date.parse("2030-01-01T00:00:00Z"))).toBeUndefined();
  });
});
