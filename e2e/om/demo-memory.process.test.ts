import { MastraClient } from "@selvedge/client-js";
import { describe, expect, it, onTestFinished } from "vitest";
import { StudioServer } from "../studio/studio-server.ts";

const ADDRESS = { agentId: "assistant", resourceId: "local", threadId: "t" };

describe("the demo agent of npm start", () => {
  it("knows what was said first after its server is killed during an observation", async () => {
    const server = await StudioServer.start();
    onTestFinished(() => server.close());
    const client = new MastraClient({ baseUrl: server.url });
    const say = async (text: string): Promise<string> => {
      const memory = { thread: ADDRESS.threadId, resource: ADDRESS.resourceId };
      return (await client.getAgent("assistant").generate(text, { memory })).text;
    };
    const view = async () => {
      const { threadId, ...query } = ADDRESS;
      return (await client.call("inspectObservationalMemory", { params: { threadId }, query })).view!;
    };
    const isObserving = async () => (await view()).jobs.some(({ state }) => state === "running");

    await say("My cat is called Loom.");
    for (let turn = 1; !(await isObserving()); turn++) await say(`hello ${turn}`);
    await server.kill();

    await server.start();
    // The work that was cut off is done again, without a message.
    await expect.poll(async () => (await view()).chunks.length, { timeout: 60_000 }).toBeGreaterThan(0);
    for (let turn = 1; !(await view()).chunks.some(({ state }) => state === "active"); turn++)
      await say(`hello again ${turn}`);
    for (let turn = 1; turn <= 4; turn++) await say(`and again ${turn}`);
    expect(await say("what did I say first?")).toBe('The first thing you said was: "My cat is called Loom."');
  });
});
