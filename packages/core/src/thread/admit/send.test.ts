import { scriptedModel } from "@selvedge/testing";
import { Memory } from "@selvedge/memory";
import { describe, expect, it } from "vitest";
import { Agent } from "../../agent/agent.ts";
import { AgentError } from "../../errors.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Write } from "../../storage/storage.ts";

const target = { resourceId: "u", threadId: "t" };
const persist = { ...target, ifIdle: { behavior: "persist" as const } };
const notification = (contents: string, id?: string) => ({
  type: "notification" as const,
  contents,
  ...(id !== undefined && { id }),
});

/** A store that counts its commits, and can refuse one. */
class CountingStorage extends InMemoryStorage {
  commits = 0;
  refuse: ((writes: readonly Write[]) => Error | undefined) | undefined;

  override async commit(writes: readonly Write[]) {
    this.commits++;
    const error = this.refuse?.(writes);
    if (error) throw error;
    return super.commit(writes);
  }
}

function makeAgent() {
  const storage = new CountingStorage();
  const memory = new Memory({ storage });
  const model = scriptedModel(({ prompt }) => JSON.stringify(prompt.at(-1)));
  const agent = new Agent({ name: "a", instructions: "", model, memory });
  const contents = async () => {
    const { messages } = await memory.recall({ ...target, perPage: false });
    return messages.map(({ content }) =>
      content.parts.map((part) => (part.type === "text" ? part.text : "")).join(""),
    );
  };
  return { agent, storage, memory, model, contents };
}

describe("sends that wait for the same turn", () => {
  it("are admitted in few commits, in the order they were made, each with events of its own", async () => {
    const { agent, storage, contents } = makeAgent();
    await agent.sendSignal(notification("first"), persist).admitted;
    storage.commits = 0;
    const texts = Array.from({ length: 200 }, (_, index) => `signal ${index}`);
    const sent = texts.map((text) => agent.sendSignal(notification(text), persist));
    await Promise.all(sent.map(({ admitted }) => admitted));
    expect(storage.commits).toBeLessThan(6);
    expect(await contents()).toEqual(["first", ...texts]);

    const { stream } = await agent.subscribeToThread({ ...target, after: 3 });
    const seen: { seq: number; type: string; runId: string }[] = [];
    for await (const { seq, type, runId } of stream) if (seen.push({ seq, type, runId }) === 600) break;
    expect(seen.map(({ seq }) => seq)).toEqual(Array.from({ length: 600 }, (_, index) => index + 4));
    expect(seen.filter(({ type }) => type === "data-signal").map(({ runId }) => runId)).toEqual(
      sent.map(({ runId }) => runId),
    );
  });

  it("wake the thread once: the first opens a run and the others join it", async () => {
    const { agent, model } = makeAgent();
    const texts = ["one", "two", "three", "four"];
    const sent = texts.map((text) => agent.sendMessage(text, target));
    const admitted = await Promise.all(sent.map((one) => one.admitted));
    expect(admitted.map(({ action }) => action)).toEqual(["wake", "deliver", "deliver", "deliver"]);
    expect(new Set(admitted.map(({ runId }) => runId)).size).toBe(1);
    await expect.poll(() => JSON.stringify(model.calls.at(-1)?.prompt)).toContain("four");
    const prompt = JSON.stringify(model.calls.at(-1)?.prompt);
    const places = texts.map((text) => prompt.indexOf(`"${text}"`));
    expect(places).toEqual(places.toSorted((a, b) => a - b));
  });

  it("keep their place before a call that came later", async () => {
    const { agent, model } = makeAgent();
    const sent = ["a", "b"].map((text) => agent.queueMessage(text, target));
    await agent.generate("c", { memory: { thread: target.threadId, resource: target.resourceId } });
    await Promise.all(sent.map(({ admitted }) => admitted));
    const asked = model.calls.map(({ prompt }) => JSON.stringify(prompt.at(-1)));
    expect(asked.map((text) => /"text":"(\w)"/.exec(text)?.[1])).toEqual(["a", "b", "c"]);
  });

  it("do not share the fate of one that is refused", async () => {
    const { agent, contents } = makeAgent();
    await agent.sendSignal(notification("there", "same"), persist).admitted;
    const sent = [notification("x"), notification("again", "same"), notification("y")].map((signal) =>
      agent.sendSignal(signal, persist),
    );
    const outcomes = await Promise.allSettled(sent.map(({ admitted }) => admitted));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: "conflict" });
    expect(await contents()).toEqual(["there", "x", "y"]);
  });

  it("are refused together when the store fails, and can be sent again", async () => {
    const { agent, storage, contents } = makeAgent();
    await agent.sendSignal(notification("first"), persist).admitted;
    storage.refuse = () => new AgentError("storage-failed", "The disk is full.");
    const send = (text: string) => agent.sendSignal(notification(text), persist).admitted;
    for (const outcome of await Promise.allSettled(["x", "y"].map(send)))
      expect(outcome).toMatchObject({ status: "rejected", reason: { code: "storage-failed" } });
    storage.refuse = undefined;
    await Promise.all(["x", "y"].map(send));
    expect(await contents()).toEqual(["first", "x", "y"]);
  });

  it("get the attributes of the branch that was decided on, also on a second attempt", async () => {
    const { agent, storage } = makeAgent();
    await agent.sendSignal(notification("first"), persist).admitted;
    let failures = 1;
    storage.refuse = () =>
      failures-- > 0
        ? new AgentError("conflict", "changed", { details: { index: 1, table: "x" } })
        : undefined;
    const options = {
      ...persist,
      ifActive: { attributes: { while: "active" } },
      ifIdle: { behavior: "persist" as const, attributes: { while: "idle" } },
    };
    const sent = ["x", "y"].map((text) =>
      agent.sendSignal({ ...notification(text), attributes: { own: 1 } }, options),
    );
    await Promise.all(sent.map(({ admitted }) => admitted));
    for (const { signal } of sent) expect(signal.attributes).toEqual({ own: 1, while: "idle" });
  });
});

describe("a key", () => {
  it("gives back the signal with the attributes it was accepted with", async () => {
    const { agent } = makeAgent();
    const options = {
      ...target,
      idempotencyKey: "k",
      ifIdle: { behavior: "persist" as const, attributes: { while: "idle" } },
    };
    await agent.sendSignal(notification("x"), options).admitted;
    const again = agent.sendSignal(notification("x"), options);
    expect(await again.admitted).toMatchObject({ action: "persist", duplicate: true });
    expect(again.signal.attributes).toEqual({ while: "idle" });
  });
});
