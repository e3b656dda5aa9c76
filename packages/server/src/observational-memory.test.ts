import { InMemoryStorage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { byHeader, served, type Served } from "./__fixtures__/served.ts";

const LONG = Array.from({ length: 100 }, () => "word").join(" ");
const agentId = "helper";

describe("the routes of observational memory", () => {
  let app: Served;
  let memory: Memory;
  beforeEach(async () => {
    memory = new Memory({
      options: {
        observationalMemory: {
          observation: {
            model: scriptedModel(() => "<observations>\n* 🔴 ann's secret\n</observations>"),
            messageTokens: 1_000,
            bufferTokens: 250,
            instruction: "a secret instruction",
          },
        },
      },
    });
    const storage = new InMemoryStorage();
    app = served(() => `answer ${LONG}`, { authorize: byHeader, storage, agent: { memory } });
    for (let turn = 0; turn < 8; turn++) {
      await app.agent.generate(`question ${turn} ${LONG}`, { memory: { thread: "t", resource: "ann" } });
      await memory.settled();
    }
  });
  afterEach(() => app.agent.close());

  test("return the notes, the history and the settings to their owner", async () => {
    const query = { agentId, threadId: "t", limit: 10 };
    const { record, history } = await app.json("getObservationalMemory", { query }, "ann");
    expect(record).toMatchObject({
      threadId: "t",
      resourceId: "ann",
      activeObservations: expect.stringContaining("ann's secret"),
    });
    expect(history).toHaveLength(1);
    const body = { agentId, threadId: "t" };
    const settled = await app.json("observationalMemoryBufferStatus", { body }, "ann");
    expect(settled.record).toMatchObject({ threadId: "t", isBufferingObservation: false });
    const { config } = await app.json("memoryConfig", { query: { agentId } }, "ann");
    expect(config.observationalMemory).toMatchObject({
      scope: "thread",
      observation: { messageTokens: 1_000 },
    });
  });

  test("show instructions only to callers who may inspect the agent", async () => {
    const texts = async (as: string) =>
      JSON.stringify(await app.json("memoryConfig", { query: { agentId } }, as));
    expect(await texts("ann")).not.toContain("a secret instruction");
    expect(await texts("ann+inspect")).toContain("a secret instruction");
  });

  test("do not find the thread of another resource", async () => {
    for (const resourceId of [undefined, "bob"]) {
      const body = { agentId, threadId: "t", ...(resourceId && { resourceId }) };
      const answers = [
        await app.call("getObservationalMemory", { query: { ...body, limit: 10 } }, "bob"),
        await app.call("observationalMemoryBufferStatus", { body }, "bob"),
      ];
      for (const answer of answers) {
        expect(answer.status).toBe(404);
        expect(await answer.text()).not.toContain("secret");
      }
    }
  });

  test("do not serve another resource's log", async () => {
    const query = { agentId, resourceId: "ann" };
    const answer = await app.call("getObservationalMemory", { query }, "bob");
    expect(await answer.text()).not.toContain("secret");
    const own = await app.json("getObservationalMemory", { query: { agentId } }, "bob");
    expect(own.record).toBeNull();
  });
});
