import { describe, expect, test } from "vitest";
import { byHeader, gate, served } from "./__fixtures__/served.ts";

const params = { agentId: "helper" };

/** An app whose model answers when it is told to. */
function slow(runsPerResource: number) {
  const release = gate();
  const calls: ReturnType<typeof gate>[] = [];
  const call = (number: number) => (calls[number] ??= gate());
  let count = 0;
  const world = served(
    async () => {
      call(++count).open();
      await release.opened;
      return "Done.";
    },
    { authorize: byHeader, limits: { runsPerResource } },
  );
  /** Resolves when the model is asked for the next time. */
  const modelAsked = () => call(count + 1).opened;
  return { ...world, release, modelAsked, calls: () => count };
}

describe("runs of one resource", () => {
  test("are limited, though the answer to a message does not wait for its run", async () => {
    const world = slow(2);
    const send = async (threadId: string, as: string) => {
      const asked = world.modelAsked();
      const response = await world.call("sendMessage", { params, body: { threadId, message: "Go." } }, as);
      if (response.ok) await asked;
      return response;
    };
    expect((await send("a", "ann")).status).toBe(200);
    expect((await send("b", "ann")).status).toBe(200);
    const refused = await send("c", "ann");
    expect([refused.status, await refused.json()]).toMatchObject([429, { code: "too-many-requests" }]);
    expect((await send("d", "bob")).status).toBe(200);
    // It joins the run that goes on.
    const more = { threadId: "a", message: "And this." };
    expect((await world.call("sendMessage", { params, body: more }, "ann")).status).toBe(200);
    const others = [
      world.call("stream", { params, body: { messages: "Go." } }, "ann"),
      world.call("responses", { body: { model: "helper", input: "Go." } }, "ann"),
      world.call("chatCompletions", { body: { model: "bare", messages: [] } }, "ann"),
    ];
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([429, 429, 429]);
    expect(world.calls()).toBe(3);
    world.release.open();
    await world.call("generate", { params, body: { messages: "Go.", memory: { thread: "a" } } }, "ann");
    expect((await send("c", "ann")).status).toBe(200);
  });

  test("without threads count until they are over, or their reader leaves", async () => {
    const world = slow(1);
    const begin = () => world.call("stream", { params, body: { messages: "Go." } }, "ann");
    const asked = world.modelAsked();
    const first = await begin();
    await asked;
    expect((await begin()).status).toBe(429);
    await first.body!.cancel();
    const again = world.modelAsked();
    let second = await begin();
    // The run that nobody reads any more takes a moment to end.
    while (second.status === 429) {
      await new Promise((resolve) => setImmediate(resolve));
      second = await begin();
    }
    expect(second.status).toBe(200);
    await again;
    world.release.open();
    expect(await second.text()).toContain("Done.");
    expect(await (await begin()).text()).toContain("Done.");
  });

  test("without threads end where the caller has left before they begin", async () => {
    const world = slow(1);
    const signal = AbortSignal.abort();
    const body = { messages: "Go." };
    await world.call("generate", { params, body, signal }, "ann");
    const chat = { model: "bare", messages: [{ role: "user", content: "Go." }] };
    await world.call("chatCompletions", { body: chat, signal } as never, "ann");
    const asked = world.modelAsked();
    const next = await world.call("stream", { params, body }, "ann");
    expect(next.status).toBe(200);
    await asked;
    world.release.open();
    expect(await next.text()).toContain("Done.");
  });
});
