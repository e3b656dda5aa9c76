import type { Storage } from "@selvedge/core/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ADA, LONG, omFaults, omRows, omWorld, promptText } from "../__fixtures__/om-world.ts";
import { type Stores, STORES } from "../__fixtures__/stores.ts";

describe.each(STORES)("observational memory on %s", (_name, open) => {
  let stores: Stores;
  let storage: Storage;
  beforeEach(async () => {
    stores = await open();
    ({ storage } = stores);
  });
  afterEach(() => stores.close());

  it("turns old messages into notes that take their place in the prompt", async () => {
    const world = omWorld({ storage });
    for (let at = 0; at < 12; at++) await world.turn(`question ${at} ${LONG}`);
    expect(world.warnings).toEqual([]);
    expect(await omFaults(storage)).toEqual([]);
    const { record, chunks } = await omRows(storage);
    expect(chunks.filter(({ state }) => state === "active").length).toBeGreaterThan(1);
    expect(record!.pending_tokens).toBeLessThan(1_200);
    const prompt = world.model.calls.at(-1)!.prompt.map(promptText).join("\n");
    expect(prompt).toContain("user: question 0");
    expect(prompt).not.toContain(`question 0 ${LONG}`);
    expect(prompt).toContain(`question 11 ${LONG}`);
    await world.agent.close();
  });
});
