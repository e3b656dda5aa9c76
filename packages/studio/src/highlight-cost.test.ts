import { growthOf } from "@selvedge/testing";
import { expect, it } from "vitest";
import { highlight } from "./highlight.ts";

it("highlights code in time that grows with its length", async () => {
  // Many short ones: what is too long is not highlighted.
  const read = (size: number): void => {
    for (let time = 0; time < 200; time++) highlight('"\\'.repeat(2 * size) + "/*".repeat(size), "ts");
  };
  expect(await growthOf(read, 250)).toBeLessThan(1.5);
});
