import type { AgentConfig } from "@selvedge/core/agent";
import { createTool } from "@selvedge/core/tools";
import type { AgentChunk } from "@selvedge/protocol";
import { afterEach, describe, expect, it } from "vitest";
import type { ScriptedModel, ScriptedReply } from "./scripted-model.ts";

type NumberedChunk = AgentChunk & { seq: number };
type Reply = string | ScriptedReply;

/** A way to reach threads: in process, through a handler, over a wire. All of them keep the same promises. */
export interface ThreadDoor {
  sendMessage(
    message: string,
    options?: { idempotencyKey?: string; id?: string },
  ): Promise<{ runId: string; action: string }>;
  queueMessage(message: string): Promise<{ runId: string; action: string }>;
  sendSignal(
    signal: { type: "notification" | "reactive"; contents: string },
    options: { ifIdle?: { behavior: "wake" | "persist" | "discard" } },
  ): Promise<{ action: string }>;
  sendStateSignal(state: { id: string; cacheKey: string; contents: string }): Promise<{ skipped?: boolean }>;
  subscribe(options?: { after?: number }): Promise<DoorReader>;
  abort(): Promise<boolean>;
  decide(decision: {
    approved: boolean;
    toolCallId?: string;
    resumeData?: unknown;
    declineContext?: { reason?: string };
  }): Promise<{ runId: string; toolCallId: string }>;
  generate(message: string): Promise<{ text: string }>;
  /** The history as `role: text` lines. */
  history(): Promise<string[]>;
}

export interface DoorReader {
  chunks: AsyncIterable<NumberedChunk>;
  leave(): void;
}

/** A door to one thread of an agent, and the model behind it. */
export interface DoorHarness {
  door: ThreadDoor;
  model: ScriptedModel;
  close(): Promise<void>;
}

export type OpenDoor = (
  script: (call: { index: number }) => Promise<Reply>,
  config: Partial<AgentConfig>,
) => Promise<DoorHarness>;

/** What every door to a thread promises. */
export function testThreads(name: string, open: OpenDoor): void {
  describe(name, () => {
    const worlds = new Set<() => Promise<void>>();
    afterEach(async () => {
      await Promise.all([...worlds].map((close) => close()));
      worlds.clear();
    });

    const world = async (replies: Reply[] = [], config: Partial<AgentConfig> = {}) => {
      const gates: { reached: () => void; opened: Promise<void> }[] = [];
      const harness = await open(async ({ index }) => {
        const gate = gates.shift();
        gate?.reached();
        await gate?.opened;
        return replies[index] ?? `Answer ${index + 1}.`;
      }, config);
      const followers: Follower[] = [];
      worlds.add(async () => {
        for (const follower of followers) follower.leave();
        await harness.close();
      });
      /** Stops the model at its next call. */
      const hold = () => {
        const reached = Promise.withResolvers<void>();
        const opened = Promise.withResolvers<void>();
        gates.push({ reached: reached.resolve, opened: opened.promise });
        return { reached: reached.promise, go: opened.resolve };
      };
      const follow = async (options?: { after?: number }) => {
        const follower = new Follower(await harness.door.subscribe(options));
        followers.push(follower);
        return follower;
      };
      return { ...harness, hold, follow };
    };

    it("wakes an idle thread with a message, and shows the message before the answer", async () => {
      const { door, follow } = await world(["Hello."]);
      const reader = await follow();
      const sent = await door.sendMessage("Hi", { id: "m1" });
      expect(sent.action).toBe("wake");
      const chunks = await reader.until("finish");
      expect(chunks.map(({ type }) => type).slice(0, 3)).toEqual([
        "start",
        "data-user-message",
        "step-start",
      ]);
      expect(chunks[1]).toMatchObject({ data: { id: "m1", contents: "Hi" }, runId: sent.runId });
      expect(chunks.map(({ seq }) => seq)).toEqual(chunks.map((_, index) => index + 1));
      expect(reader.text).toBe("Hello.");
      expect(await door.history()).toEqual(["signal: Hi", "assistant: Hello."]);
    });

    it("takes a message into the run under way, and a queued one into a run of its own", async () => {
      const { door, follow, hold, model } = await world();
      const reader = await follow();
      const { reached, go } = hold();
      const first = await door.sendMessage("one");
      await reached;
      expect(await door.sendMessage("two")).toEqual({ action: "deliver", runId: first.runId });
      const queued = await door.queueMessage("three");
      expect(queued.action).toBe("queue");
      expect(queued.runId).not.toBe(first.runId);
      go();
      const chunks = await reader.until("finish", 2);
      expect(new Set(chunks.map(({ runId }) => runId))).toEqual(new Set([first.runId, queued.runId]));
      expect(model.calls).toHaveLength(3);
      const history = await door.history();
      expect(history.filter((line) => line.startsWith("signal"))).toEqual([
        "signal: one",
        "signal: two",
        "signal: three",
      ]);
    });

    it("takes a message once when it is sent twice with one key", async () => {
      const { door, follow, model } = await world();
      const reader = await follow();
      const first = await door.sendMessage("Hi", { idempotencyKey: "k" });
      await reader.until("finish");
      expect((await door.sendMessage("Hi", { idempotencyKey: "k" })).runId).toBe(first.runId);
      expect(model.calls).toHaveLength(1);
      expect(await door.history()).toEqual(["signal: Hi", "assistant: Answer 1."]);
    });

    it("gives a reader with a number everything after it, once", async () => {
      const { door, follow } = await world();
      const reader = await follow();
      await door.sendMessage("Hi");
      const chunks = await reader.until("finish");
      for (const after of [0, 3, chunks.length - 1]) {
        const late = await follow({ after });
        expect(await late.until("finish")).toEqual(chunks.slice(after));
      }
    });

    it("gives a reader without a number the active run from its start", async () => {
      const { door, follow, hold } = await world();
      await door.sendMessage("before");
      await (await follow({ after: 0 })).until("finish");
      const { reached, go } = hold();
      const { runId } = await door.sendMessage("now");
      await reached;
      const reader = await follow();
      go();
      const chunks = await reader.until("finish");
      expect(chunks[0]).toMatchObject({ type: "start", runId });
    });

    it("aborts the active run, and says when there is none", async () => {
      const { door, follow, hold } = await world();
      expect(await door.abort().catch((error: { code: string }) => error.code)).toBeOneOf([
        false,
        "not-found",
      ]);
      const reader = await follow();
      const { reached, go } = hold();
      await door.sendMessage("Hi");
      await reached;
      expect(await door.abort()).toBe(true);
      go();
      await reader.until("abort");
      await door.sendMessage("again");
      await reader.until("finish");
      expect(reader.text).toBe("Answer 2.");
    });

    it("waits for a person, and goes on on the same stream", async () => {
      const { ran, config } = dangerous();
      const { door, follow } = await world([callOf("danger", "d1"), "done"], config);
      const reader = await follow();
      const { runId } = await door.sendMessage("go");
      const chunks = await reader.until("finish");
      expect(chunks.at(-1)).toMatchObject({ payload: { stepResult: { reason: "suspended" } } });
      expect(ran).toEqual([]);
      expect(await door.decide({ approved: true })).toEqual({ accepted: true, runId, toolCallId: "d1" });
      await reader.until("finish", 2);
      expect(ran).toEqual(["danger"]);
      expect(reader.text).toBe("done");
      expect(reader.chunks.every((chunk) => chunk.runId === runId)).toBe(true);
    });

    it("does not run what was declined, and tells the model why", async () => {
      const { ran, config } = dangerous();
      const { door, follow, model } = await world([callOf("danger", "d1"), "understood"], config);
      const reader = await follow();
      await door.sendMessage("go");
      await reader.until("finish");
      await door.decide({ approved: false, toolCallId: "d1", declineContext: { reason: "too risky" } });
      await reader.until("finish", 2);
      expect(ran).toEqual([]);
      expect(JSON.stringify(model.calls[1]!.prompt)).toContain("too risky");
      await expect(door.decide({ approved: true, toolCallId: "d1" })).rejects.toMatchObject({
        code: expect.stringMatching(/already-decided|not-found/) as string,
      });
    });

    it("stores what is to be stored and leaves what is to be left", async () => {
      const { door, follow, model } = await world();
      await door.sendMessage("Hi");
      await (await follow({ after: 0 })).until("finish");
      const notification = { type: "notification", contents: "CI failed." } as const;
      expect(await door.sendSignal(notification, { ifIdle: { behavior: "persist" } })).toMatchObject({
        action: "persist",
      });
      expect(await door.sendSignal(notification, { ifIdle: { behavior: "discard" } })).toMatchObject({
        action: "discard",
      });
      expect(model.calls).toHaveLength(1);
      expect((await door.history()).slice(2)).toEqual(["signal: CI failed."]);
    });

    it("tells a state once", async () => {
      const { door, follow, model } = await world();
      const reader = await follow();
      await door.sendMessage("Hi");
      await reader.until("finish");
      const state = { id: "browser", cacheKey: "a", contents: "On a page." };
      expect((await door.sendStateSignal(state)).skipped).toBeFalsy();
      await reader.until("finish", 2);
      expect((await door.sendStateSignal(state)).skipped).toBe(true);
      expect(model.calls).toHaveLength(2);
    });

    it("shows a failed run as one, and takes the next message", async () => {
      const { door, follow } = await world([{ error: new Error("The loom is broken.") }, "fine"], {
        maxRetries: 0,
      });
      const reader = await follow();
      await door.sendMessage("Hi");
      const chunks = await reader.until("error");
      expect(chunks.at(-1)).toMatchObject({ payload: { error: { code: "model-failed" } } });
      await door.sendMessage("again");
      await reader.until("finish");
      expect(reader.text).toBe("fine");
    });

    it("answers a call as it answers a message", async () => {
      const { door } = await world(["Hello."]);
      expect((await door.generate("Hi")).text).toBe("Hello.");
      expect(await door.history()).toEqual(["user: Hi", "assistant: Hello."]);
    });
  });
}

/** Collects what a reader gives. */
class Follower {
  readonly chunks: NumberedChunk[] = [];
  readonly #reader: DoorReader;
  #changed = Promise.withResolvers<void>();
  #failure: unknown;
  #over = false;

  constructor(reader: DoorReader) {
    this.#reader = reader;
    void this.#collect();
  }

  get text(): string {
    return this.chunks.map((chunk) => (chunk.type === "text-delta" ? chunk.payload.text : "")).join("");
  }

  /** Everything so far, once there have been that many chunks of the type. */
  async until(type: string, count = 1): Promise<NumberedChunk[]> {
    while (this.chunks.filter((chunk) => chunk.type === type).length < count) {
      if (this.#failure) throw this.#failure;
      if (this.#over) throw new Error(`The stream ended without ${type}.`);
      await this.#changed.promise;
    }
    return [...this.chunks];
  }

  leave(): void {
    this.#reader.leave();
  }

  async #collect(): Promise<void> {
    try {
      for await (const chunk of this.#reader.chunks) {
        this.chunks.push(chunk);
        this.#wake();
      }
    } catch (error) {
      this.#failure = error;
    }
    this.#over = true;
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers<void>();
  }
}

function callOf(toolName: string, toolCallId: string): ScriptedReply {
  return { toolCalls: [{ toolName, toolCallId, input: {} }] } as ScriptedReply;
}

function dangerous(): { ran: string[]; config: Partial<AgentConfig> } {
  const ran: string[] = [];
  const danger = createTool({
    id: "danger",
    description: "Breaks things.",
    requireApproval: true,
    execute: async () => {
      ran.push("danger");
      return "broken";
    },
  });
  return { ran, config: { tools: { danger } } };
}
