import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, Mastra, silentLogger } from "@selvedge/core";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { byHeader, gate, served, type Served } from "../__fixtures__/served.ts";
import { createServer } from "../server.ts";

function client(world: Served, user?: string): OpenAI {
  return new OpenAI({
    apiKey: "unused",
    baseURL: "http://localhost/v1",
    maxRetries: 0,
    defaultHeaders: user === undefined ? {} : { "x-user": user },
    fetch: (input, init) => world.server.fetch(new Request(input as string, init as RequestInit)),
  });
}

const model = "helper";
const SEARCH = {
  type: "function" as const,
  name: "search",
  strict: false,
  description: "searches",
  parameters: { type: "object", properties: { q: { type: "string" } } },
};

/** Answers what it was asked last, so that every answer says which question it belongs to. */
const echo = ({ prompt }: { prompt: readonly { role: string; content: unknown }[] }) => {
  const text = JSON.stringify(prompt.findLast(({ role }) => role === "user")!.content);
  return `answer to ${/"text":"([^"]*)"/.exec(text)![1]}`;
};

/** The texts of a prompt without the instructions, in order. */
function told(world: Served, index: number): string[] {
  return world.model.calls[index]!.prompt.flatMap(({ role, content }) =>
    role === "system" || typeof content === "string"
      ? []
      : content.flatMap((part) => ("text" in part ? [part.text as string] : [`(${part.type})`])),
  );
}

function everything(storage: Storage): Promise<{ total: number }> {
  return storage.getStore("memory").then((domain) => domain!.listThreads());
}

describe("previous_response_id", () => {
  test("goes on from a response, on one thread, without what that one was instructed", async () => {
    const world = served(echo);
    const openai = client(world);
    const first = await openai.responses.create({ model, input: "one", instructions: "Only this once." });
    const second = await openai.responses.create({ model, input: "two", previous_response_id: first.id });
    const third = await openai.responses.create({ model, input: "three", previous_response_id: second.id });
    expect(third).toMatchObject({ output_text: "answer to three", previous_response_id: second.id });
    expect(told(world, 2)).toEqual(["one", "answer to one", "two", "answer to two", "three"]);
    expect(JSON.stringify(world.model.calls[0]!.prompt)).toContain("Only this once.");
    expect(JSON.stringify(world.model.calls[1]!.prompt)).not.toContain("Only this once.");
    expect(await everything(world.storage)).toMatchObject({ total: 1 });
  });

  test("goes on from the same response twice, also at the same time: neither sees the other", async () => {
    const world = served(echo);
    const openai = client(world);
    const root = await openai.responses.create({ model, input: "root" });
    const follow = (input: string, previous: { id: string }) =>
      openai.responses.create({ model, input, previous_response_id: previous.id });
    const [left, right] = await Promise.all([follow("left", root), follow("right", root)]);
    const late = await follow("late", root);
    for (const [branch, name] of [
      [left, "left"],
      [right, "right"],
      [late, "late"],
    ] as const) {
      await follow(`after ${name}`, branch);
      expect(told(world, world.model.calls.length - 1)).toEqual([
        "root",
        "answer to root",
        name,
        `answer to ${name}`,
        `after ${name}`,
      ]);
    }
  });

  test("survives a restart of the server", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-responses-"));
    try {
      const open = () => new LibSQLStore({ url: `file:${join(folder, "store.db")}` });
      const before = served(echo, { storage: open() });
      const first = await client(before).responses.create({ model, input: "one" });
      await before.mastra.close();
      await before.storage.close();
      const after = served(echo, { storage: open() });
      const openai = client(after);
      const second = await openai.responses.create({ model, input: "two", previous_response_id: first.id });
      expect(second.output_text).toBe("answer to two");
      expect(told(after, 0)).toEqual(["one", "answer to one", "two"]);
      expect(await openai.responses.retrieve(first.id)).toMatchObject({
        id: first.id,
        output_text: "answer to one",
        status: "completed",
        usage: first.usage,
      });
      await after.mastra.close();
      await after.storage.close();
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("takes the results of the client's functions, and another set of them for another branch", async () => {
    const world = served(({ prompt, index }) =>
      index === 0
        ? { toolCalls: [{ toolName: "search", input: { q: "x" } }] }
        : `got ${JSON.stringify(prompt).includes("red") ? "red" : "blue"}`,
    );
    const openai = client(world);
    const first = await openai.responses.create({ model, input: "Look.", tools: [SEARCH] });
    const call = first.output.find((item) => item.type === "function_call")!;
    const answer = (output: string) =>
      openai.responses.create({
        model,
        tools: [SEARCH],
        previous_response_id: first.id,
        input: [{ type: "function_call_output", call_id: call.call_id, output }],
      });
    const red = await answer("red");
    const blue = await answer("blue");
    expect([red.output_text, blue.output_text]).toEqual(["got red", "got blue"]);
    const again = await openai.responses.create({ model, input: "And?", previous_response_id: red.id });
    expect(again.output_text).toBe("got red");
    // It is still what it was when it was made: a call that waits for the client.
    const stored = await openai.responses.retrieve(first.id);
    expect(stored.output).toEqual(first.output);
    const results = world.model.calls.map(({ prompt }) =>
      prompt.flatMap(({ content }) =>
        typeof content === "string" ? [] : content.filter(({ type }) => type === "tool-result"),
      ),
    );
    expect(results.map(({ length }) => length)).toEqual([0, 1, 1, 1]);
  });

  test("keeps nothing with store: false, and goes on from there all the same", async () => {
    const world = served(echo);
    const openai = client(world);
    const loose = await openai.responses.create({ model, input: "zero", store: false });
    expect(loose).toMatchObject({ store: false });
    expect(await everything(world.storage)).toMatchObject({ total: 0 });
    await expect(openai.responses.retrieve(loose.id)).rejects.toMatchObject({ status: 404 });
    const first = await openai.responses.create({ model, input: "one" });
    const body = { model, store: false, previous_response_id: first.id };
    const second = await openai.responses.create({ ...body, input: "two" });
    expect(told(world, 2)).toEqual(["one", "answer to one", "two"]);
    const missing = openai.responses.create({ ...body, input: "x", previous_response_id: second.id });
    await expect(missing).rejects.toMatchObject({ status: 404 });
    await openai.responses.create({ model, input: "three", previous_response_id: first.id });
    expect(told(world, 3)).toEqual(["one", "answer to one", "three"]);
    // A conversation is read and left as it is.
    await openai.responses.create({ model, input: "in", conversation: "conv" });
    await openai.responses.create({ model, input: "aside", conversation: "conv", store: false });
    await openai.responses.create({ model, input: "out", conversation: "conv" });
    expect(told(world, 5)).toEqual(["in", "answer to in", "aside"]);
    expect(told(world, 6)).toEqual(["in", "answer to in", "out"]);
  });

  test("works with results of functions that are not stored, and for agents without memory", async () => {
    const world = served(({ prompt, index }) =>
      index === 0
        ? { toolCalls: [{ toolName: "search", input: { q: "x" } }] }
        : JSON.stringify(prompt).includes("red")
          ? "got red"
          : "got nothing",
    );
    const openai = client(world);
    const first = await openai.responses.create({ model, input: "Look.", tools: [SEARCH] });
    const call = first.output.find((item) => item.type === "function_call")!;
    for (const other of [{ model, store: false }, { model: "bare" }]) {
      const second = await openai.responses.create({
        ...other,
        tools: [SEARCH],
        previous_response_id: first.id,
        input: [{ type: "function_call_output", call_id: call.call_id, output: "red" }],
      });
      expect(second).toMatchObject({ output_text: "got red", store: false });
    }
    expect((await openai.responses.retrieve(first.id)).output).toEqual(first.output);
  });

  test("answers without keeping anything where there is nowhere to keep it", async () => {
    const lone = new Agent({
      id: "lone",
      name: "Lone",
      instructions: "",
      model: scriptedModel(["Hi."]),
      memory: new Memory(),
    });
    const moody = new Agent({
      id: "moody",
      name: "Moody",
      instructions: "",
      model: scriptedModel(["Hm."]),
      memory: () => {
        throw new TypeError("Who asks?");
      },
    });
    const mastra = new Mastra({ agents: { lone, moody }, logger: silentLogger });
    const openai = client({ server: createServer({ mastra }) } as Served);
    const response = await openai.responses.create({ model: "lone", input: "x" });
    expect(response).toMatchObject({ output_text: "Hi.", store: false });
    await expect(openai.responses.retrieve(response.id)).rejects.toMatchObject({ status: 404 });
  });

  test("answers alike for a response of another and for one that is not there, in OpenAI's shape", async () => {
    const world = served(echo, { authorize: byHeader });
    const mine = await client(world, "ann").responses.create({ model, input: "secret" });
    const bob = client(world, "bob");
    const failures = [];
    for (const id of [mine.id, "resp_nothing"]) {
      for (const attempt of [
        bob.responses.create({ model, input: "x", previous_response_id: id }),
        bob.responses.create({ model, input: "x", previous_response_id: id, store: false }),
        bob.responses.create({ model: "bare", input: "x", previous_response_id: id }),
        bob.responses.retrieve(id),
        bob.responses.delete(id),
      ]) {
        const error = (await attempt.catch((thrown: unknown) => thrown)) as { status: number; error: object };
        failures.push(JSON.stringify([error.status, error.error]).replaceAll(id, "*"));
      }
    }
    expect(new Set(failures)).toEqual(
      new Set([
        JSON.stringify([
          404,
          {
            message: 'There is no response "*".',
            type: "invalid_request_error",
            code: "not-found",
            param: null,
          },
        ]),
      ]),
    );
    expect(world.model.calls).toHaveLength(1);
    const ann = client(world, "ann");
    expect(await ann.responses.retrieve(mine.id)).toMatchObject({ output_text: "answer to secret" });
  });

  test("leaves nothing behind of a request that was refused", async () => {
    const world = served(echo, { authorize: byHeader });
    const ann = client(world, "ann");
    const first = await ann.responses.create({ model, input: "one" });
    await ann.responses.create({ model, input: "two", previous_response_id: first.id });
    const told403 = ann.responses.create({
      model,
      input: "x",
      instructions: "Obey.",
      previous_response_id: first.id,
    });
    await expect(told403).rejects.toMatchObject({ status: 403 });
    await expect(ann.responses.create({ model, input: "x", instructions: "Obey." })).rejects.toMatchObject({
      status: 403,
    });
    expect(await everything(world.storage)).toMatchObject({ total: 1 });
    const stray = [{ type: "function_call_output" as const, call_id: "none", output: "x" }];
    for (const more of [{}, { previous_response_id: first.id }, { conversation: "c" }])
      await expect(ann.responses.create({ model, input: stray, ...more })).rejects.toMatchObject({
        status: 400,
      });
    expect(await everything(world.storage)).toMatchObject({ total: 1 });
    const both = { conversation: "c", previous_response_id: first.id };
    await expect(ann.responses.create({ model, input: "x", ...both })).rejects.toMatchObject({ status: 400 });
  });

  test("shows what was answered, without what the client said the assistant said before", async () => {
    const openai = client(served(["Now."]));
    const input = [
      { role: "user" as const, content: "Hi" },
      { role: "assistant" as const, content: "Earlier." },
      { role: "user" as const, content: "And?" },
    ];
    const { id } = await openai.responses.create({ model, input });
    expect((await openai.responses.retrieve(id)).output_text).toBe("Now.");
  });

  test("waits for nobody: an answer under way cannot be gone on from", async () => {
    const { opened, open } = gate();
    const world = served(async () => {
      await opened;
      return "slow";
    });
    const openai = client(world);
    const stream = await openai.responses.create({ model, input: "one", stream: true });
    const events = stream[Symbol.asyncIterator]();
    const created = (await events.next()).value as { response: { id: string } };
    const { id } = created.response;
    const early = openai.responses.create({ model, input: "two", previous_response_id: id });
    await expect(early).rejects.toMatchObject({ status: 409 });
    await expect(openai.responses.delete(id)).rejects.toMatchObject({ status: 409 });
    expect(await openai.responses.retrieve(id)).toMatchObject({ status: "in_progress" });
    open();
    while (!(await events.next()).done);
    expect(await openai.responses.retrieve(id)).toMatchObject({ status: "completed", output_text: "slow" });
  });
});

describe("deleting a response", () => {
  test("deletes its thread when it was the only one", async () => {
    const world = served(echo, { storage: new InMemoryStorage() });
    const openai = client(world);
    const only = await openai.responses.create({ model, input: "one" });
    await openai.responses.delete(only.id);
    await expect(openai.responses.retrieve(only.id)).rejects.toMatchObject({ status: 404 });
    expect(await everything(world.storage)).toMatchObject({ total: 0 });
  });

  test("leaves those before and after it as they are", async () => {
    const world = served(echo);
    const openai = client(world);
    const follow = (input: string, previous: { id: string }) =>
      openai.responses.create({ model, input, previous_response_id: previous.id });
    const one = await openai.responses.create({ model, input: "one" });
    const two = await follow("two", one);
    const three = await follow("three", two);
    await openai.responses.delete(two.id);
    await expect(follow("x", two)).rejects.toMatchObject({ status: 404 });
    const four = await follow("four", three);
    expect(told(world, 3).slice(-3)).toEqual(["three", "answer to three", "four"]);
    await follow("other", one);
    expect(told(world, 4)).toEqual(["one", "answer to one", "other"]);
    await openai.responses.delete(four.id);
    await openai.responses.delete(three.id);
    // Nothing is left of what only they needed.
    const domain = (await world.storage.getStore("memory"))!;
    const { threads } = await domain.listThreads();
    const texts = await Promise.all(threads.map(({ id }) => domain.listMessages({ threadId: id })));
    const counts = texts.map(({ messages }) => messages.length);
    expect(counts.toSorted((a, b) => a - b)).toEqual([2, 4]);
    expect(await openai.responses.retrieve(one.id)).toMatchObject({ output_text: "answer to one" });
    await follow("again", one);
    expect(told(world, 5)).toEqual(["one", "answer to one", "again"]);
  });
});
