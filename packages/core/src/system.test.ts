import { expect, it } from "vitest";
import { realSystem } from "./system.ts";

it("makes ids that are UUIDs, begin with the time and differ", () => {
  const before = realSystem.now();
  const ids = Array.from({ length: 1000 }, () => realSystem.newId());
  const after = realSystem.now();
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) {
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const time = Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);
    expect(time).toBeGreaterThanOrEqual(before);
    expect(time).toBeLessThanOrEqual(after);
  }
});
