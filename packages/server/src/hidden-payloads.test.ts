import { createTool } from "@selvedge/core";
import { describe, expect, test } from "vitest";
import { byHeader, frames, readUntil, served, type Served } from "./__fixtures__/served.ts";

const SECRET = "hunter2";
const params = { agentId: "helper" };
const rules = { input: () => "[in]", output: () => "[out]", suspend: () => "[why]" };
const transform = { display: rules, transcript: rules };
const tools = {
  reads: createTool({ id: "reads", description: "", transform, execute: async () => ({ pw: SECRET }) }),
  asks: createTool({ id: "asks", description: "", transform, requireApproval: true, execute: async () => 1 }),
  suspends: createTool({
    id: "suspends",
    description: "",
    transform,
    execute: async (_, { suspend }) => suspend({ pw: SECRET }),
  }),
};

/** A thread on which the agent has called a tool whose payloads people may not see. */
async function world(toolName: string): Promise<Served & { generated: unknown }> {
  const script = ({ prompt }: { prompt: { role: string }[] }) =>
    prompt.at(-1)!.role === "tool" ? "ok" : { toolCalls: [{ toolName, input: { pw: SECRET } }] };
  const here = served(script as never, { authorize: byHeader, tools });
  const body = { messages: "go", memory: { thread: "t", resource: "ann" } };
  return { ...here, generated: await here.json("generate", { params, body }, "ann") };
}

describe.each(Object.keys(tools))("payloads that a transform hides from people: %s", (toolName) => {
  test("are not in what generate answers", async () => {
    const { generated } = await world(toolName);
    expect(JSON.stringify(generated)).not.toContain(SECRET);
    expect(JSON.stringify(generated)).toContain("[in]");
  });

  const reads: [string, (here: Served, as: string) => Promise<Response>][] = [
    ["listMessages", ({ call }, as) => call("listMessages", { params: { threadId: "t" } }, as)],
    ["threadState", ({ call }, as) => call("getThreadState", { params: { threadId: "t" } }, as)],
    ["listSuspendedRuns", ({ call }, as) => call("listSuspendedRuns", { params }, as)],
    ["cloneThread", ({ call }, as) => call("cloneThread", { params: { threadId: "t" }, body: {} }, as)],
    ["searchMemory", ({ call }, as) => call("searchMemory", { query: { searchQuery: "go" } }, as)],
  ];
  test.each(reads)("are not in what %s answers", async (_, read) => {
    const answer = await (await read(await world(toolName), "ann")).text();
    expect(answer).not.toContain(SECRET);
  });

  test("are on no stream", async () => {
    const { call } = await world(toolName);
    const events = frames(
      await call("watchThread", { params: { ...params, threadId: "t" }, query: { after: 0 } }, "ann"),
    );
    expect(JSON.stringify(await readUntil(events, "finish"))).not.toContain(SECRET);
    await events.return(undefined);
  });

  test("are shown to one who may look inside", async () => {
    const { call } = await world(toolName);
    const messages = await (await call("listMessages", { params: { threadId: "t" } }, "ann+inspect")).text();
    expect(messages).toContain(SECRET);
  });
});
