import { readFileSync } from "node:fs";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import type { ModelConfig } from "./model.ts";
import { findProvider, PROVIDERS } from "./provider-registry.ts";
import { resolveModel } from "./resolve-model.ts";

async function only(config: ModelConfig, env: Record<string, string> = {}): Promise<LanguageModelV4> {
  const candidates = await resolveModel(config, env);
  expect(candidates).toHaveLength(1);
  return candidates[0]!.model;
}

describe("resolveModel", () => {
  it("takes a v4 model as it is", async () => {
    const model = scriptedModel(["hi"]);
    expect(await only(model)).toBe(model);
  });

  it.each(["v2", "v3"] as const)("adapts a %s model up", async (specificationVersion) => {
    const model = scriptedModel(["hi"], {
      specificationVersion: specificationVersion as "v3",
      modelId: "old",
    });
    expect(await only(model)).toMatchObject({
      specificationVersion: "v4",
      provider: "scripted",
      modelId: "old",
    });
  });

  it.each([
    ["v1", "openai.chat", "npm install @ai-sdk/openai@latest"],
    [undefined, "google-generative-ai", "npm install @ai-sdk/google@latest"],
    ["v1", "somebody.chat", "npm install @ai-sdk/somebody@latest"],
  ])(
    "refuses specification %s of %s and names what to install",
    async (specificationVersion, provider, command) => {
      const model = { specificationVersion, provider, modelId: "old", doStream() {}, doGenerate() {} };
      await expect(resolveModel(model as never)).rejects.toMatchObject({
        code: "model-unsupported",
        message: expect.stringMatching(new RegExp(`specification v1.*${command}.*AI SDK 5`)),
      });
    },
  );

  it("opens the provider's own package for a provider/model string", async () => {
    const env = { OPENAI_API_KEY: "sk-1", ANTHROPIC_API_KEY: "sk-2" };
    expect(await only("openai/gpt-5", env)).toMatchObject({ provider: "openai.responses", modelId: "gpt-5" });
    expect(await only("anthropic/claude-sonnet-4-5", env)).toMatchObject({ provider: "anthropic.messages" });
  });

  it("goes over the compatible wire for providers without an installed package", async () => {
    expect(await only("groq/llama-3.3-70b", { GROQ_API_KEY: "g" })).toMatchObject({ provider: "groq.chat" });
    expect(await only("google/gemini-2.5-flash", { GEMINI_API_KEY: "g" })).toMatchObject({
      provider: "google.chat",
    });
  });

  it("keeps slashes in the model part", async () => {
    const model = await only("openrouter/meta-llama/llama-3", { OPENROUTER_API_KEY: "o" });
    expect(model).toMatchObject({ provider: "openrouter.chat", modelId: "meta-llama/llama-3" });
  });

  it.each(["ollama/llama3.2", "lmstudio/qwen", "llamacpp/any"])("needs no key for %s", async (id) => {
    expect((await only(id)).specificationVersion).toBe("v4");
  });

  it("names the variable when a key is missing, and does not take an empty one", async () => {
    const missing = { code: "model-key-missing", message: expect.stringContaining("OPENAI_API_KEY") };
    await expect(resolveModel("openai/gpt-5", {})).rejects.toMatchObject(missing);
    await expect(resolveModel("openai/gpt-5", { OPENAI_API_KEY: " " })).rejects.toMatchObject(missing);
  });

  it("reads the key when the model is resolved", async () => {
    const env: Record<string, string> = {};
    await expect(resolveModel("openai/gpt-5", env)).rejects.toMatchObject({ code: "model-key-missing" });
    env["OPENAI_API_KEY"] = "sk-later";
    await expect(resolveModel("openai/gpt-5", env)).resolves.toHaveLength(1);
  });

  it("names the command when a package that nothing can replace is missing", async () => {
    await expect(resolveModel("amazon-bedrock/nova", {})).rejects.toMatchObject({
      code: "model-package-missing",
      message: expect.stringContaining("npm install @ai-sdk/amazon-bedrock"),
    });
  });

  it("suggests what an unknown provider may have meant", async () => {
    await expect(resolveModel("opnai/gpt-5", {})).rejects.toMatchObject({
      code: "model-unknown",
      message: expect.stringContaining('Did you mean "openai"'),
    });
    await expect(resolveModel("zzzzzzzz/x", {})).rejects.toThrow(/Known providers: openai, anthropic/);
  });

  it.each(["constructor/x", "__proto__/x", "toString/x"])("does not take %s for a provider", async (id) => {
    await expect(resolveModel(id, {})).rejects.toMatchObject({ code: "model-unknown" });
  });

  it.each(["gpt-5", "", "/x", "openai/"])('says how to write a model when it gets "%s"', async (id) => {
    await expect(resolveModel(id, {})).rejects.toMatchObject({
      code: "model-unknown",
      message: expect.stringContaining("provider/model"),
    });
  });

  it.each([undefined, null, 7, {}, [7], [{ id: "x/y" }]])(
    "refuses %o with the accepted forms",
    async (config) => {
      await expect(resolveModel(config as never, {})).rejects.toMatchObject({ code: "invalid-argument" });
    },
  );

  it("does not repeat a key that was put in the wrong place", async () => {
    const error = (await resolveModel({ apiKey: "sk-secret" } as never, {}).catch(
      (thrown: unknown) => thrown,
    )) as Error;
    expect(error.message).toContain("apiKey");
    expect(error.message).not.toContain("sk-secret");
  });

  it("refuses an address that is not one", async () => {
    await expect(resolveModel({ id: "x/y", url: "localhost:1" })).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });

  it("keeps the fallbacks that are enabled, in order, with their settings", async () => {
    const [a, b, c] = [scriptedModel(["a"]), scriptedModel(["b"]), scriptedModel(["c"])] as const;
    const headers = { "x-team": "blue" };
    const candidates = await resolveModel([
      { model: a, maxRetries: 1, headers },
      { model: b, enabled: false },
      { model: c, modelSettings: { temperature: 0 }, providerOptions: { x: { y: 1 } } },
    ]);
    expect(candidates).toEqual([
      { model: a, maxRetries: 1, headers },
      { model: c, modelSettings: { temperature: 0 }, providerOptions: { x: { y: 1 } } },
    ]);
  });

  it("does not ask for the key of a disabled fallback", async () => {
    const list = [{ model: "openai/gpt-5", enabled: false }, { model: "ollama/llama3.2" }];
    await expect(resolveModel(list, {})).resolves.toHaveLength(1);
  });

  it.each([[[]], [[{ model: "ollama/x", enabled: false }]]])(
    "refuses a list with nothing to call: %o",
    async (list) => {
      await expect(resolveModel(list, {})).rejects.toMatchObject({ code: "invalid-argument" });
    },
  );

  it("does not show the key when a candidate is printed", async () => {
    const candidates = await resolveModel({ id: "x/y", url: "http://127.0.0.1:1/v1", apiKey: "top-secret" });
    expect(JSON.stringify(candidates)).not.toContain("top-secret");
  });
});

describe("PROVIDERS", () => {
  it.each(Object.entries(PROVIDERS))("%s can be reached", (_, entry) => {
    expect(entry.package ?? entry.baseUrl).toBeDefined();
    expect(Boolean(entry.package)).toBe(Boolean(entry.factories));
    if (entry.baseUrl) expect(entry.baseUrl).toMatch(/^https:\/\/[^ ]+[^/]$|^http:\/\/127\.0\.0\.1:\d+\/v1$/);
  });

  it.each(Object.entries(PROVIDERS))("%s is in docs/models.md with its keys", (id, { keys }) => {
    const page = readFileSync(new URL("../../../../docs/models.md", import.meta.url), "utf8");
    const row = page.split("\n").find((line) => line.startsWith(`| \`${id}\` |`));
    expect(row).toBeDefined();
    for (const key of keys) expect(row).toContain(`\`${key}\``);
  });

  it("knows other spellings", () => {
    expect(findProvider("togetherai")).toBe(PROVIDERS["together"]);
  });
});
