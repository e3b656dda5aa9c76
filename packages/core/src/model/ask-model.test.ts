import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { askModel } from "./ask-model.ts";

describe("askModel", () => {
  it("joins the text and leaves reasoning out", async () => {
    expect(await askModel(scriptedModel([{ reasoning: "hm", text: ["a", "b"] }]), { prompt: "?" })).toBe(
      "ab",
    );
  });

  it("passes settings on, and those of a fallback over them", async () => {
    const model = scriptedModel(["ok"]);
    const entry = {
      model,
      modelSettings: { temperature: 0.5 },
      headers: { b: "2" },
      providerOptions: { p: { x: 1 } },
    };
    await askModel([entry], {
      prompt: "?",
      temperature: 1,
      seed: 7,
      headers: { a: "1" },
      providerOptions: { p: { y: 2 } },
    });
    expect(model.calls[0]).toMatchObject({
      temperature: 0.5,
      seed: 7,
      headers: { a: "1", b: "2" },
      providerOptions: { p: { x: 1, y: 2 } },
    });
  });

  it("does not pass half an answer off as one", async () => {
    const cut = scriptedModel([{ text: ["half", "x"], cutAfter: 3 }]);
    await expect(askModel(cut, { prompt: "?" })).rejects.toMatchObject({ code: "model-incomplete" });
  });

  it("throws an error that comes in the middle", async () => {
    const parts = [
      { type: "text-start", id: "1" },
      { type: "error", error: new Error("overloaded") },
    ] as const;
    await expect(askModel(scriptedModel([{ parts }]), { prompt: "?" })).rejects.toMatchObject({
      code: "model-failed",
      message: expect.stringContaining("overloaded"),
    });
  });

  it("can be aborted", async () => {
    const signal = AbortSignal.timeout(10);
    const asked = askModel(scriptedModel([{ hang: true }], { ignoreAbort: true }), {
      prompt: "?",
      abortSignal: signal,
    });
    await expect(asked).rejects.toMatchObject({ name: "TimeoutError" });
  });
});
