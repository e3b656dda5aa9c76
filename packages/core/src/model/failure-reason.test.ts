import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { failureReason } from "./failure-reason.ts";

const candidate = { model: scriptedModel([]) };

describe("failureReason", () => {
  it("tells the status and the message", () => {
    expect(failureReason(Object.assign(new Error("slow down"), { statusCode: 429 }), candidate)).toBe(
      "status 429, slow down",
    );
  });

  it.each([
    ["text", "text"],
    [undefined, "undefined"],
    [null, "null"],
    [{ type: "overloaded" }, '{"type":"overloaded"}'],
    [new TypeError(""), "TypeError"],
  ])("has words for %o", (thrown, words) => {
    expect(failureReason(thrown, candidate)).toBe(words);
  });

  it("does not repeat a whole error page", () => {
    expect(failureReason(new Error("x".repeat(1_000_000)), candidate)).toHaveLength(1_001);
  });
});
