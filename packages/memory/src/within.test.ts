import { realSystem, type System } from "@selvedge/core/memory";
import { describe, expect, it } from "vitest";
import { within } from "./within.ts";

const never = () => new Promise<never>(() => {});

/** Timers go off as soon as they are set. */
const hasty: System = {
  ...realSystem,
  setTimer: (_ms, callback) => {
    queueMicrotask(callback);
    return () => {};
  },
};

describe("within", () => {
  it("gives what the work gives, and its failure", async () => {
    expect(await within(realSystem, 1_000, async () => 3)).toBe(3);
    await expect(within(realSystem, 1_000, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  });

  it("leaves work behind that takes too long, and tells it", async () => {
    let told: AbortSignal | undefined;
    const late = within(hasty, 5, (signal) => ((told = signal), never()));
    await expect(late).rejects.toMatchObject({ code: "model-timeout" });
    expect(told?.aborted).toBe(true);
  });

  it("stops with the caller", async () => {
    const caller = new AbortController();
    const work = within(realSystem, 1_000, never, caller.signal);
    caller.abort(new Error("enough"));
    await expect(work).rejects.toThrow("enough");
    await expect(within(realSystem, 1_000, never, caller.signal)).rejects.toThrow("enough");
  });
});
