import { describe, expect, it } from "vitest";
import { chooseModel } from "./choose-model.ts";

describe("chooseModel", () => {
  it("prefers the flag, then SELVEDGE_MODEL, then a key", async () => {
    const env = { SELVEDGE_MODEL: "groq/b", ANTHROPIC_API_KEY: "k" };
    expect(await chooseModel("openai/a", env)).toMatchObject({ model: "openai/a" });
    expect(await chooseModel(undefined, env)).toMatchObject({ model: "groq/b" });
    expect(await chooseModel(undefined, { ...env, SELVEDGE_MODEL: " " })).toMatchObject({
      name: expect.stringMatching(/^anthropic\//),
      why: "ANTHROPIC_API_KEY is set",
    });
  });

  it("does not take a token that is there for other reasons", async () => {
    // Addresses of the person's own keep this test away from servers that may run on this machine.
    const local = { OLLAMA_BASE_URL: "http://127.0.0.1:9", LMSTUDIO_BASE_URL: "http://127.0.0.1:9" };
    expect(await chooseModel(undefined, { ...local, GITHUB_TOKEN: "t", HF_TOKEN: "t" })).toMatchObject({
      name: "a scripted model",
    });
  });
});
