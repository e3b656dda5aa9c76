import { expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";

test("the metadata of a thread has a size, however it comes and in how many parts", async () => {
  const world = served(() => "Hello.", { authorize: byHeader });
  const params = { threadId: "t" };
  const much = { a: "x".repeat(70_000) };
  const create = (body: object) => world.call("createThread", { query: {}, body } as never, "ann");
  const refused = await create({ threadId: "t", metadata: much });
  expect([refused.status, await refused.json()]).toMatchObject([413, { code: "limit-exceeded" }]);
  expect((await create({ threadId: "t", metadata: { a: "x".repeat(40_000) } })).status).toBe(200);
  const change = async (metadata: object) =>
    (await world.call("updateThread", { params, query: {}, body: { metadata } } as never, "ann")).status;
  expect(await change({ b: "x".repeat(40_000) })).toBe(413);
  expect(await change({ a: "short", b: "x".repeat(40_000) })).toBe(200);
  expect((await world.call("cloneThread", { params, body: { metadata: much } }, "ann")).status).toBe(413);
  const memory = { thread: { id: "u", metadata: much } };
  const body = { messages: "Hi", memory };
  expect((await world.call("generate", { params: { agentId: "helper" }, body }, "ann")).status).toBe(413);
  const workingMemory = "x".repeat(300_000);
  const long = await world.call(
    "updateWorkingMemory",
    { params, query: {}, body: { workingMemory } } as never,
    "ann+run-options",
  );
  expect(long.status).toBe(400);
});
