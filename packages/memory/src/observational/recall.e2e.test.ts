import { Agent } from "@selvedge/core/agent";
import { InMemoryStorage } from "@selvedge/core/storage";
import { InMemoryVector } from "@selvedge/core/vector";
import { scriptedModel } from "@selvedge/testing";
import { expect, test } from "vitest";
import { wordEmbedder } from "../__fixtures__/word-embedder.ts";
import { Memory } from "../memory.ts";

const ada = { thread: "t", resource: "ada" };

async function talk(retrieval: object) {
  const storage = new InMemoryStorage();
  const call = { toolName: "recall", input: { mode: "search", query: "passport" } };
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!;
    if (last.role === "tool") return JSON.stringify(last.content);
    return JSON.stringify(last.content).includes("which") ? { toolCalls: [call] } : "Noted.";
  });
  const memory = new Memory({
    storage,
    vector: new InMemoryVector(),
    embedder: wordEmbedder(),
    options: { observationalMemory: { model, retrieval, observation: { bufferTokens: false } } },
  });
  const agent = new Agent({ id: "a", name: "a", instructions: "", model, memory });
  await agent.generate("My passport is green.", { memory: { ...ada, thread: "other" } });
  await agent.generate("Hello.", { memory: ada });
  const { text } = await agent.generate("Which colour was it? which", { memory: ada });
  return { text, tools: model.calls.at(-1)!.tools?.map(({ name }) => name), memory };
}

test("an agent with retrieval recalls what was said in another thread", async () => {
  const { text, tools } = await talk({ scope: "resource" });
  expect(tools).toEqual(["recall"]);
  expect(text).toContain("My passport is green.");
});

test("an agent with retrieval of one thread does not", async () => {
  expect((await talk({ scope: "thread" })).text).not.toContain("green");
});

test("notes are indexed by group for a search by meaning, and removed with their thread", async () => {
  const storage = new InMemoryStorage();
  const embedder = wordEmbedder();
  const call = { toolName: "recall", input: { mode: "search", query: "airship journeys" } };
  const observer = scriptedModel(() => "<observations>\n* 🔴 (10:00) airship journeys\n</observations>");
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1)!;
    if (last.role === "tool") return JSON.stringify(last.content);
    return JSON.stringify(last.content).includes("which") ? { toolCalls: [call] } : "Noted.";
  });
  const vector = new InMemoryVector();
  const memory = new Memory({
    storage,
    vector,
    embedder,
    options: {
      observationalMemory: {
        model: observer,
        retrieval: { vector: true },
        observation: { bufferOnIdle: true },
      },
    },
  });
  const agent = new Agent({ id: "a", name: "a", instructions: "", model, memory });
  const other = { ...ada, thread: "other" };
  await agent.generate("I like zeppelins.", { memory: other });
  await memory.settled();
  expect(embedder.calls.flat()).toEqual(["* 🔴 (10:00) airship journeys"]);
  const search = async () => (await agent.generate("which", { memory: ada })).text;
  expect(await search()).toContain("airship journeys");
  const ofEve = await agent.generate("which", { memory: { thread: "e", resource: "eve" } });
  expect(ofEve.text).not.toContain("(10:00) airship");
  await memory.deleteThread("other");
  const [indexName] = await vector.listIndexes();
  const query = { indexName: indexName!, queryVector: (await embedder.embed(["airship"]))[0]!, topK: 9 };
  const left = await vector.query({ ...query, filter: { thread_id: "other" } });
  expect(left).toEqual([]);
  await agent.close();
});

test("a thread is summarised without storing anything", async () => {
  const { memory } = await talk({});
  const model = scriptedModel(["<summary>\nGreen.\n</summary>"]);
  const before = await memory.recall({ threadId: "other" });
  expect(await memory.summarizeThread({ threadId: "other", resourceId: "ada", model })).toMatchObject({
    summary: "Green.",
  });
  expect(JSON.stringify(model.calls[0]!.prompt)).toContain("My passport is green.");
  expect(await memory.recall({ threadId: "other" })).toEqual(before);
  await expect(memory.summarizeThread({ threadId: "other", resourceId: "eve", model })).rejects.toMatchObject(
    { code: "not-found" },
  );
});
