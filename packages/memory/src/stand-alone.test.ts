import { Agent } from "@selvedge/core/agent";
import type { Processor } from "@selvedge/core/processors";
import { InMemoryStorage } from "@selvedge/core/storage";
import { InMemoryVector } from "@selvedge/core/vector";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, test } from "vitest";
import { wordEmbedder } from "./__fixtures__/word-embedder.ts";
import { omFaults } from "./__fixtures__/om-world.ts";
import { Memory } from "./memory.ts";
import { MessageHistory } from "./message-history.ts";
import { ObservationalMemoryProcessor } from "./observational/observational-memory-processor.ts";
import { ObservationalMemory } from "./observational/observational-memory.ts";
import { SemanticRecall } from "./semantic-recall.ts";
import { WorkingMemoryStateProcessor } from "./working-memory-state.ts";
import { WorkingMemory } from "./working-memory.ts";

const ada = { thread: "t", resource: "ada" };

function agentWith(
  make: (storage: InMemoryStorage) => { before: Processor[]; after?: Processor[] },
  script: Script = () => "ok",
) {
  const storage = new InMemoryStorage();
  const model = scriptedModel(script);
  const memory = new Memory({ storage, options: { lastMessages: false } });
  const { before, after = [] } = make(storage);
  const agent = new Agent({
    id: "a",
    name: "a",
    instructions: "",
    model,
    memory,
    inputProcessors: before,
    outputProcessors: after,
  });
  const prompt = (): string => JSON.stringify(model.calls.at(-1)!.prompt);
  const say = (text: string, thread = "t") => agent.generate(text, { memory: { ...ada, thread } });
  return { agent, model, memory, prompt, say };
}

describe("MessageHistory on its own", () => {
  test("shows the newest messages", async () => {
    const { say, prompt } = agentWith((storage) => ({
      before: [new MessageHistory({ storage, lastMessages: 2 })],
    }));
    for (const text of ["one", "two", "three"]) await say(text);
    expect(prompt()).toContain("two");
    expect(prompt()).not.toContain("one");
  });

  test("shows ten unless told otherwise", async () => {
    const { say, prompt } = agentWith((storage) => ({ before: [new MessageHistory({ storage })] }));
    for (let turn = 0; turn < 8; turn++) await say(`turn-${turn}.`);
    expect(prompt()).toContain("turn-2.");
    expect(prompt()).not.toContain("turn-1.");
  });

  test.each([-1, 1.5, "all"])("refuses lastMessages: %j", (lastMessages) => {
    const options = { storage: new InMemoryStorage(), lastMessages: lastMessages as number };
    expect(() => new MessageHistory(options)).toThrow("`lastMessages` of MessageHistory");
  });

  test("says that it has no store", async () => {
    const history = new MessageHistory({ storage: undefined as never });
    const { say } = agentWith(() => ({ before: [history] }));
    await expect(say("hi")).rejects.toMatchObject({ code: "storage-required" });
  });
});

describe("SemanticRecall on its own", () => {
  const recall = (options: object = {}) => {
    const vector = new InMemoryVector();
    const made = agentWith((storage) => {
      const own = new SemanticRecall({
        storage,
        vector,
        embedder: wordEmbedder(),
        topK: 1,
        messageRange: 0,
        ...options,
      });
      return { before: [own], after: [own] };
    });
    return { ...made, vector };
  };

  test("indexes messages and finds them in another thread", async () => {
    const { say, prompt, model } = recall();
    await say("the harbour is green", "first");
    const ask = async () => {
      await say("what colour is the harbour", `later-${model.calls.length}`);
      return prompt();
    };
    await expect.poll(ask).toContain("the harbour is green");
  });

  test("applies a filter, which cannot widen what may be seen", async () => {
    const { say, prompt, model } = recall({ filter: { role: "assistant" } });
    await say("the harbour is green", "first");
    const ask = async () => {
      await say("the harbour?", `later-${model.calls.length}`);
      return prompt();
    };
    await expect.poll(ask).toContain("ok");
    expect(prompt()).not.toContain("harbour is green");
  });

  test("creates the index as it is told", async () => {
    const created: object[] = [];
    const vector = new InMemoryVector();
    const create = vector.createIndex.bind(vector);
    vector.createIndex = async (options) => {
      created.push(options);
      return create(options);
    };
    const { say } = agentWith((storage) => {
      const indexConfig = { metric: "dotproduct" as const, type: "hnsw" };
      return {
        before: [
          new SemanticRecall({ storage, vector, embedder: wordEmbedder(), indexConfig, indexName: "mine" }),
        ],
      };
    });
    await say("hi");
    expect(created).toEqual([
      { indexName: "mine", dimension: 256, metric: "dotproduct", indexConfig: { type: "hnsw" } },
    ]);
  });

  test("passes embedderOptions to an embedding model", async () => {
    const asked: unknown[] = [];
    const embedder = {
      specificationVersion: "v3",
      provider: "p",
      modelId: "m",
      doEmbed: async ({ values, providerOptions }: { values: string[]; providerOptions?: unknown }) => {
        asked.push(providerOptions);
        return { embeddings: values.map(() => [1, 0]) };
      },
    };
    const embedderOptions = { providerOptions: { p: { dimensions: 2 } } };
    const { say } = agentWith((storage) => ({
      before: [new SemanticRecall({ storage, vector: new InMemoryVector(), embedder, embedderOptions })],
    }));
    await say("hi");
    expect(asked).toEqual([{ p: { dimensions: 2 } }]);
  });

  test.each([{ topK: 0 }, { filter: "role" }, { indexConfig: 1 }])("refuses %j", (options) => {
    expect(() => recall(options)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });
});

describe("WorkingMemory on its own", () => {
  const note: Script = ({ prompt, tools }) =>
    tools?.length && prompt.at(-1)?.role === "user"
      ? { toolCalls: [{ toolName: "updateWorkingMemory", input: { memory: "# Ada\n- likes tea" } }] }
      : "ok";

  test("shows what was noted, and gives the model the tool for it", async () => {
    const { say, prompt } = agentWith(
      (storage) => ({ before: [new WorkingMemory({ storage, template: "# Name:" })] }),
      note,
    );
    await say("I like tea");
    await say("hi", "another");
    expect(prompt()).toContain("likes tea");
  });

  test("keeps the scope of a thread", async () => {
    const { say, prompt } = agentWith(
      (storage) => ({ before: [new WorkingMemory({ storage, scope: "thread" })] }),
      note,
    );
    await say("I like tea");
    await say("hi");
    expect(prompt()).toContain("likes tea");
  });

  test("that is read-only brings no tool", async () => {
    const { say, model, prompt } = agentWith(
      (storage) => ({ before: [new WorkingMemory({ storage, readOnly: true })] }),
      note,
    );
    await say("hi");
    expect(model.calls[0]!.tools ?? []).toEqual([]);
    expect(prompt()).toContain("<working_memory>");
  });

  test("is told as a state by WorkingMemoryStateProcessor", async () => {
    const { say, prompt } = agentWith((storage) => {
      const options = { storage, useStateSignals: true, template: "# Name: nobody" };
      return { before: [new WorkingMemory(options), new WorkingMemoryStateProcessor(options)] };
    });
    await say("hi");
    expect(prompt()).toContain("<working-memory># Name: nobody</working-memory>");
  });
});

describe("ObservationalMemoryProcessor", () => {
  const words = Array.from({ length: 100 }, () => "word").join(" ");
  const observer = () => scriptedModel(() => "<observations>\n* 🔴 (10:00) noted\n</observations>");

  test.each([false, 10] as const)(
    "observes like the memory itself, with lastMessages: %j",
    async (lastMessages) => {
      const storage = new InMemoryStorage();
      const memory = new Memory({ storage, options: { lastMessages } });
      const om = new ObservationalMemory({
        storage,
        model: observer(),
        observation: { messageTokens: 1_000, bufferTokens: 250 },
      });
      const processor = new ObservationalMemoryProcessor(om, memory);
      const model = scriptedModel(() => `answer ${words}`);
      const agent = new Agent({
        id: "a",
        name: "a",
        instructions: "",
        model,
        memory,
        inputProcessors: [processor],
        outputProcessors: [processor],
      });
      for (let turn = 0; turn < 10; turn++) {
        await agent.generate(`question-${turn}. ${words}`, { memory: ada });
        await om.waitForBuffering("t", "ada");
      }
      const prompt = JSON.stringify(model.calls.at(-1)!.prompt);
      expect(prompt).toContain("noted");
      expect(prompt).not.toContain("question-0.");
      expect(prompt.indexOf("question-8.")).toBeLessThan(prompt.indexOf("question-9."));
      expect(await omFaults(storage)).toEqual([]);
      await agent.close();
    },
  );

  test("needs a thread, and the agent's own store", async () => {
    const om = new ObservationalMemory({ storage: new InMemoryStorage(), model: observer() });
    const { agent, say } = agentWith(() => ({ before: [new ObservationalMemoryProcessor(om)] }));
    await expect(agent.generate("Hi")).rejects.toThrow("needs a thread");
    await expect(say("Hi")).rejects.toThrow("uses another");
  });
});
