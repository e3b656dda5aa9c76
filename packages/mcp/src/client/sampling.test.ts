import { Agent } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { scene, textOf } from "../__fixtures__/scene.ts";
import type { SamplingRequest } from "../index.ts";

const { client, hosted } = scene();

/** Asks its client for a completion, and answers with what came back. */
const asking = (params: Record<string, unknown> = {}) =>
  createTool({
    id: "ask",
    description: "",
    execute: async (_, { extra }) => {
      const messages = [{ role: "user", content: { type: "text", text: "Capital of France?" } }];
      const request = {
        method: "sampling/createMessage",
        params: { messages, maxTokens: 100_000, ...params },
      };
      try {
        return JSON.stringify(await extra!["sendRequest"](request));
      } catch (error) {
        return `refused: ${(error as Error).message}`;
      }
    },
  });

const modelOf = (...texts: string[]) => scriptedModel(texts.map((text) => ({ text })));

describe.each(["2025-11-25", "2026-07-28"] as const)("sampling for a server of %s", (protocolVersion) => {
  it("asks for consent, then lets the agent's model answer, without the agent's tools and instructions", async () => {
    const model = modelOf("Paris");
    const agent = new Agent({
      name: "A",
      instructions: "The secret is 42.",
      model,
      tools: { wipe: createTool({ id: "wipe", description: "", execute: async () => "" }) },
    });
    const asked: [SamplingRequest, { serverName: string }][] = [];
    const { url } = await hosted({ tools: { ask: asking({ systemPrompt: "Be short.", temperature: 0.5 }) } });
    const approve = (...args: (typeof asked)[number]) => {
      asked.push(args);
      return true;
    };
    const tools = await client({
      a: { url, protocolVersion, sampling: { agent, approve, maxTokens: 50 } },
    }).getTools();
    expect(JSON.parse(textOf(await tools["a_ask"]!.execute({})))).toMatchObject({
      role: "assistant",
      content: { type: "text", text: "Paris" },
      stopReason: "endTurn",
    });
    expect(asked).toMatchObject([[{ systemPrompt: "Be short.", maxTokens: 100_000 }, { serverName: "a" }]]);
    const [call] = model.calls;
    expect(call).toMatchObject({ maxOutputTokens: 50, temperature: 0.5 });
    expect(call!.tools ?? []).toEqual([]);
    expect(JSON.stringify(call!.prompt)).not.toContain("secret");
    expect(JSON.stringify(call!.prompt)).toMatch(/Be short.*Capital of France/);
  });

  it("asks no model when the answer is not yes, or when nobody could be asked", async () => {
    const model = modelOf();
    const { url } = await hosted({ tools: { ask: asking() } });
    const answers = [() => false, () => "yes" as never, () => Promise.reject(new Error("window closed"))];
    for (const approve of answers) {
      const tools = await client({ a: { url, protocolVersion, sampling: { model, approve } } }).getTools();
      const outcome = await tools["a_ask"]!.execute({}).then(textOf, String);
      expect(outcome).toMatch(/user refused/);
    }
    expect(model.calls).toEqual([]);
  });

  it("does not offer sampling or roots unless told to", async () => {
    const seen = createTool({
      id: "seen",
      description: "",
      execute: async (_, { extra }) => Object.keys(extra!["clientCapabilities"]).toSorted().join(" "),
    });
    const { url } = await hosted({ tools: { seen, ask: asking() } });
    const tools = await client({ a: { url, protocolVersion } }).getTools();
    expect(textOf(await tools["a_seen"]!.execute({}))).toBe("elicitation");
    expect(textOf(await tools["a_ask"]!.execute({}))).toMatch(/did not declare the sampling capability/);
  });

  it("takes bytes for bytes: what looks like an address is never fetched", async () => {
    const model = modelOf("a picture");
    const content = { type: "image", data: "aHR0cDovL2V2aWwuZXhhbXBsZS8=", mimeType: "image/png" };
    const { url } = await hosted({ tools: { ask: asking({ messages: [{ role: "user", content }] }) } });
    const tools = await client({
      a: { url, protocolVersion, sampling: { model, approve: () => true } },
    }).getTools();
    expect(textOf(await tools["a_ask"]!.execute({}))).toMatch(/a picture/);
    const part = (model.calls[0]!.prompt.at(-1) as any).content[0];
    expect(part).toMatchObject({ type: "file", mediaType: "image/png" });
    expect(JSON.stringify(part)).not.toMatch(/"http/);
  });

  it("tells a server its roots, and the ones set later", async () => {
    const roots = createTool({
      id: "roots",
      description: "",
      execute: async (_, { extra }) => {
        const { roots: given } = await extra!["sendRequest"]({ method: "roots/list" });
        return given.map(({ uri }: { uri: string }) => uri).join(" ");
      },
    });
    const { url } = await hosted({ tools: { roots } });
    const mcp = client({ a: { url, protocolVersion, roots: [{ uri: "file:///one" }] } });
    const tools = await mcp.getTools();
    expect(textOf(await tools["a_roots"]!.execute({}))).toBe("file:///one");
    await mcp.roots.set("a", [{ uri: "file:///two", name: "Two" }]);
    expect(textOf(await tools["a_roots"]!.execute({}))).toBe("file:///two");
    await expect(mcp.roots.set("a", [{ uri: "/two" }])).rejects.toThrow(/needs a file:\/\/ URL.*"\/two"/);
  });
});

it("lets one server wait for consent a few times only", async () => {
  const { url } = await hosted({ tools: { ask: asking() } });
  const pending: (() => void)[] = [];
  const approve = () => new Promise<boolean>((resolve) => pending.push(() => resolve(false)));
  const sampling = { model: modelOf(), approve };
  const tools = await client({ a: { url, protocolVersion: "2025-11-25", sampling } }).getTools();
  const calls = Array.from({ length: 6 }, () => tools["a_ask"]!.execute({}).then(textOf));
  await expect.poll(() => pending.length).toBe(4);
  const refused = await Promise.race(calls);
  expect(refused).toMatch(/Too many requests from this server/);
  for (const answer of pending) answer();
  expect((await Promise.all(calls)).filter((text) => /Too many/.test(text))).toHaveLength(2);
});

it("refuses sampling options that could never be answered", () => {
  const url = new URL("http://127.0.0.1:9/mcp");
  const make = (sampling: object) => () => client({ a: { url, sampling: sampling as never } });
  expect(make({ approve: () => true })).toThrow(/needs an agent or a model/);
  expect(make({ model: modelOf() })).toThrow(/needs an approve function/);
  expect(make({ model: modelOf(), approve: () => true, maxTokens: 0 })).toThrow(/maxTokens 0/);
});
