import type { AgentControllerEvent } from "@selvedge/protocol/session";
import { cuttingProxy } from "@selvedge/testing";
import { afterEach, describe, expect, it } from "vitest";
import { servedController } from "./__fixtures__/served-controller.ts";
import type { ClientSession } from "./client-session.ts";
import { MastraClient } from "./mastra-client.ts";

const open = new Set<{ close(): unknown }>();
afterEach(async () => {
  for (const each of [...open].toReversed()) await each.close();
  open.clear();
});

const SOON = { delayMs: 1 };
const OWN = { id: "s1", ownerId: "local", resourceId: "local" };
const words = (count: number) => ({ text: Array.from({ length: count }, (_, index) => `word${index} `) });
const call = (toolName: string, input: object) => ({ toolCalls: [{ toolName, input }] });

async function world(...args: Parameters<typeof servedController>) {
  const made = await servedController(...args);
  open.add(made);
  const session = (client = made.client, id = "s1"): ClientSession => {
    const one = client.getAgentController("loom").session(id, { reconnect: SOON });
    open.add(one);
    return one;
  };
  return { ...made, session };
}

/** What a listener was told, as plain values. Pictures of the display depend on the time, and are left out. */
function record(session: { subscribe(listener: (event: AgentControllerEvent) => void): unknown }): unknown[] {
  const events: unknown[] = [];
  session.subscribe((event) => {
    if (event.type !== "display_state_changed") events.push(plain(event));
  });
  return events;
}

function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value, (_, item: unknown) =>
      item instanceof Map ? [...item] : item instanceof Error ? { message: item.message } : item,
    ),
  ) as unknown;
}

describe("a session through the client", () => {
  it("tells the same events and shows the same display as in process", async () => {
    const { controller, session } = await world([
      call("write", { to: "a" }),
      { text: ["It is ", "done."] },
      call("ask_user", { question: "Which one?" }),
      "Good.",
    ]);
    const own = await controller.createSession(OWN);
    const remote = session();
    await remote.open();
    const [here, there] = [record(own), record(remote)];
    const same = async () => {
      await expect.poll(() => there).toEqual(here);
      await expect.poll(() => plain(remote.displayState.get())).toEqual(plain(own.displayState.get()));
    };

    const sent = remote.sendMessage({ content: "Write it" });
    await expect.poll(() => remote.approval.isArmed()).toBe(true);
    await same();
    const answer = await remote.respondToToolApproval({ decision: "approve" });
    expect(await sent).toMatchObject({ accepted: true, action: "wake", runId: answer.runId });
    await same();
    expect(remote.getTokenUsage().totalTokens).toBeGreaterThan(0);

    await remote.sendMessage({ content: "And now?" });
    expect(remote.suspensions.hasPending()).toBe(true);
    await same();
    await own.respondToToolSuspension({ resumeData: "The second" });
    await expect.poll(() => remote.suspensions.hasPending()).toBe(false);
    await expect.poll(() => own.run.isRunning()).toBe(false);
    await same();

    await remote.mode.switch({ modeId: "build" });
    await remote.model.switch({ modelId: "openai/gpt-5" });
    await remote.state.set({ theme: "dark" });
    await remote.permissions.setForCategory({ category: "edit", policy: "allow" });
    await remote.grantTool("read");
    expect([own.mode.get(), own.model.get(), own.state.get()]).toEqual([
      remote.mode.get(),
      remote.model.get(),
      remote.state.get(),
    ]);
    expect(remote.permissions.getRules()).toEqual(own.permissions.getRules());
    expect(remote.getGrants()).toEqual(own.getGrants());
    await same();

    const first = remote.thread.requireId();
    const { id } = await remote.thread.create({ title: "Another" });
    expect(remote.thread.getId()).toBe(id);
    await remote.thread.switch({ threadId: first });
    expect(new Set((await remote.thread.list()).map((thread) => thread.id))).toEqual(new Set([first, id]));
    expect(plain(await remote.thread.listActiveMessages())).toEqual(
      plain(await own.thread.listActiveMessages()),
    );
    await remote.thread.delete({ threadId: id });
    await same();
    expect(there.map((event) => (event as { type: string }).type)).toEqual(
      expect.arrayContaining(["thread_created", "thread_changed", "thread_deleted", "tool_suspended"]),
    );
  });

  it("shows a run that goes on to somebody who comes in the middle of it", async () => {
    const { controller, session } = await world([{ text: ["One ", "two "], hang: { after: 4 } }, "never"]);
    const own = await controller.createSession(OWN);
    void own.sendMessage({ content: "Count" });
    await expect
      .poll(() => own.displayState.get().currentMessage?.content)
      .toMatchObject([{ text: "One two " }]);
    const remote = session();
    const told = record(remote);
    await remote.open();
    expect(plain(remote.displayState.get())).toEqual(plain(own.displayState.get()));
    expect(told).toEqual([]);
    expect(await remote.abort()).toBe(true);
    await expect.poll(() => remote.run.isRunning()).toBe(false);
    await expect
      .poll(() => told)
      .toMatchObject([{ type: "message_end" }, { type: "agent_end", reason: "aborted" }]);
  });

  it("lets one of two tabs answer, tells the other, and takes its prompt away", async () => {
    const { ran, session } = await world([call("write", { n: 1 }), { text: ["on "], hang: { after: 2 } }]);
    const [a, b] = [session(), session()];
    await Promise.all([a.open(), b.open()]);
    await a.send({ content: "Go" });
    for (const tab of [a, b]) await expect.poll(() => tab.approval.isArmed()).toBe(true);
    const { toolCallId } = b.displayState.get().pendingApproval!;
    const answers = await Promise.allSettled(
      [a, b].map((tab) => tab.respondToToolApproval({ toolCallId, decision: "approve" })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(answers.find(({ status }) => status === "rejected")).toMatchObject({
      reason: { code: expect.stringMatching(/already-decided|not-found/) },
    });
    for (const tab of [a, b]) await expect.poll(() => tab.approval.isArmed()).toBe(false);
    await expect.poll(() => ran).toEqual([{ n: 1 }]);
  });

  it("takes a message once that is sent twice with one key", async () => {
    const { model, session } = await world(() => "Hello.");
    const remote = session();
    const message = { content: "Hi", idempotencyKey: "k1" };
    const first = await remote.sendMessage(message);
    const second = await remote.sendMessage(message);
    expect(second).toEqual({ ...first, duplicate: true });
    expect(model.calls).toHaveLength(1);
  });

  it("queues messages with ids of the sender's, and lets people change, order, hurry and remove them", async () => {
    const { session } = await world([call("write", {}), "one", "two"]);
    const remote = session();
    await remote.send({ content: "Go" });
    await expect.poll(() => remote.approval.isArmed()).toBe(true);
    for (const content of ["first", "second", "third"])
      await remote.followUp({ content, id: `id-${content}` });
    await expect.poll(() => remote.followUps.count()).toBe(3);
    const other = session();
    await other.open();
    const revision = other.followUps.revision();
    const order = async () => (await remote.followUps.list()).map(({ id }) => id);
    await remote.followUps.move({ id: "id-third", to: 0 });
    expect(await order()).toEqual(["id-third", "id-first", "id-second"]);
    // Its length is the same, and others are told all the same.
    await expect.poll(() => other.followUps.revision()).toBeGreaterThan(revision);
    await remote.followUps.move({ id: "id-third", to: 2 });
    expect(await order()).toEqual(["id-first", "id-second", "id-third"]);
    const [first, second, third] = await remote.followUps.list();
    await remote.followUps.edit({ id: first!.id, content: "changed" });
    await remote.followUps.remove({ id: second!.id });
    await remote.followUps.steer(third!.id);
    expect(await remote.followUps.list()).toMatchObject([{ content: [{ text: "changed" }] }]);
    await expect.poll(() => remote.followUps.count()).toBe(1);
  });

  it("says so when its session is deleted, and refuses what comes after", async () => {
    const { client, session } = await world([]);
    const remote = session();
    const told = record(remote);
    await remote.open();
    await client.getAgentController("loom").deleteSession({ id: "s1" });
    await expect.poll(() => told).toContainEqual(expect.objectContaining({ type: "error" }));
    expect(await client.getAgentController("loom").listSessions()).toEqual([]);
  });
});

describe("the stream of a session", () => {
  /** Numbers that come again with the same seed. */
  function random(seed: number): () => number {
    let state = seed;
    return () => (state = (state * 1664525 + 1013904223) % 2 ** 32) / 2 ** 32;
  }

  it("tells every event once over 200 broken lines", async () => {
    const { controller, server, session } = await world(({ index }) =>
      index % 3 === 0 ? call("write", { index }) : words(120),
    );
    const proxy = await cuttingProxy(server.port);
    open.add(proxy);
    const next = random(7);
    const own = await controller.createSession(OWN);
    await own.permissions.setForCategory({ category: "edit", policy: "allow" });
    const remote = session(
      new MastraClient({ baseUrl: proxy.url, backoffMs: 1, maxBackoffMs: 5, retries: 50 }),
    );
    await remote.open();
    const [here, there] = [record(own), record(remote)];
    proxy.limit = () => 300 + Math.floor(next() * 9000);
    proxy.cutAll();
    for (let round = 0; proxy.cuts < 200; round++) {
      await own.sendMessage({ content: `Message ${round}` });
      await expect.poll(() => there.length, { timeout: 20_000 }).toBe(here.length);
    }
    expect(there).toEqual(here);
    proxy.limit = undefined;
    await expect.poll(() => plain(remote.displayState.get())).toEqual(plain(own.displayState.get()));
    expect(proxy.cuts).toBeGreaterThanOrEqual(200);
  });

  it("grows with the answer, not with what came before it", async () => {
    const { controller, server } = await world([call("read", {}), words(500)]);
    const own = await controller.createSession(OWN);
    await own.permissions.setForCategory({ category: "read", policy: "allow" });
    const response = await fetch(`${server.url}/api/agent-controller/loom/sessions/s1/stream`);
    await own.sendMessage({ content: "Read it" });
    const threadBytes = await chunkBytes(own.thread.requireId(), controller);
    let bytes = 0;
    let text = "";
    for await (const piece of response.body!) {
      bytes += (piece as Uint8Array).length;
      text += new TextDecoder().decode(piece as Uint8Array);
      if (text.includes('"reason":"stop"') && text.includes('"session-facts"')) break;
    }
    expect(threadBytes).toBeGreaterThan(100_000);
    expect(bytes).toBeLessThan(2 * threadBytes);
  });

  /** What the thread's own stream would send. */
  async function chunkBytes(threadId: string, controller: Awaited<ReturnType<typeof world>>["controller"]) {
    const subscription = await controller
      .getCurrentAgent()
      .subscribeToThread({ threadId, resourceId: "local", after: 0 });
    let bytes = 0;
    for (;;) {
      const chunks = await subscription.read(256);
      bytes += chunks.reduce((sum, chunk) => sum + JSON.stringify(chunk).length + 20, 0);
      if (chunks.some(({ type }) => type === "finish")) break;
    }
    subscription.unsubscribe();
    return bytes;
  }

  it("gives a plain reader what it missed after the id of the last event", async () => {
    const { controller, server } = await world(["One.", "Two.", "Three."]);
    const own = await controller.createSession(OWN);
    const base = `${server.url}/api/agent-controller/loom/sessions/s1/stream`;
    await own.sendMessage({ content: "1" });
    const first = await readFrames(await fetch(base), (frames) =>
      frames.some(({ type }) => type === "session-live"),
    );
    expect(first[0]).toMatchObject({ type: "session-snapshot" });
    const id = first.findLast((frame) => frame.id)!.id!;
    expect(id).toMatch(/^\d+\.\d+$/);
    await own.mode.switch({ modeId: "build" });
    await own.sendMessage({ content: "2" });
    const later = await readFrames(await fetch(base, { headers: { "last-event-id": id } }), (frames) =>
      frames.some(({ type }) => type === "finish"),
    );
    expect(later[0]).toMatchObject({ type: "session-changed", session: { modeId: "build" } });
    const seqs = later.flatMap(({ seq }) => (seq === undefined ? [] : [seq]));
    expect(seqs[0]).toBe(Number(id.split(".")[1]) + 1);
    expect(seqs).toEqual(seqs.map((_, index) => seqs[0]! + index));
    // On another thread, numbers begin again: so does the stream.
    await own.thread.create();
    const fresh = await readFrames(
      await fetch(base, { headers: { "last-event-id": id } }),
      (frames) => frames.length > 0,
    );
    expect(fresh[0]).toMatchObject({ type: "session-snapshot", session: { threadId: own.thread.getId() } });
    const refused = await fetch(base, { headers: { "last-event-id": "12" } });
    expect(refused.status).toBe(400);
  });

  interface Frame {
    id?: string;
    type: string;
    seq?: number;
  }

  async function readFrames(response: Response, isEnough: (frames: Frame[]) => boolean): Promise<Frame[]> {
    let text = "";
    const frames: Frame[] = [];
    for await (const piece of response.body!.pipeThrough(new TextDecoderStream())) {
      text += piece;
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        const data = /^data: (.*)$/m.exec(part)?.[1];
        const id = /^id: (.*)$/m.exec(part)?.[1];
        if (data) frames.push({ ...(JSON.parse(data) as Frame), ...(id && { id }) });
      }
      if (isEnough(frames)) break;
    }
    return frames;
  }
});
