import { describe, expectTypeOf, it } from "vitest";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import type { Agent } from "./agent.ts";

declare const agent: Agent;
const here = { threadId: "t", resourceId: "r" };

describe("the thread methods of an agent", () => {
  it("answer as documented, with what is durable beside it", () => {
    const sent = agent.sendMessage("hi", here);
    expectTypeOf(sent.accepted).toEqualTypeOf<true>();
    expectTypeOf(sent.runId).toEqualTypeOf<string>();
    expectTypeOf(sent.signal).toEqualTypeOf<CreatedAgentSignal>();
    expectTypeOf(sent.persisted).toEqualTypeOf<Promise<void> | undefined>();
    expectTypeOf(sent.admitted).resolves.toHaveProperty("action");
    expectTypeOf(agent.queueMessage).returns.toEqualTypeOf(sent);
    expectTypeOf(agent.sendSignal).returns.toEqualTypeOf(sent);
  });

  it("take every documented form", () => {
    agent.sendMessage(
      [
        { type: "text", text: "x" },
        { type: "file", data: "aGk=", mediaType: "text/plain" },
      ],
      here,
    );
    agent.sendMessage(
      {
        contents: "x",
        attributes: { a: [1, { b: null }] },
        metadata: { c: 1 },
        providerOptions: { openai: {} },
      },
      { runId: "r" },
    );
    agent.sendSignal(
      { type: "system-reminder", contents: "x" },
      { ...here, ifIdle: { behavior: "wake", streamOptions: { maxSteps: 3 } } },
    );
    agent.sendSignal(
      { type: "notification", tagName: "x", contents: "x" },
      { ...here, ifActive: { behavior: "persist", attributes: { a: 1 } }, idempotencyKey: "k" },
    );
    // @ts-expect-error a type nobody knows
    agent.sendSignal({ type: "custom", contents: "x" }, here);
    // @ts-expect-error an idle thread delivers to nobody
    agent.sendMessage("x", { ...here, ifIdle: { behavior: "deliver" } });
    // @ts-expect-error approved is not optional
    void agent.sendToolApproval({ threadId: "t" });
  });

  it("need to know where a message goes", () => {
    const signal = { type: "user", contents: "x" } as const;
    agent.sendMessage("x", { runId: "r", ifActive: { behavior: "persist" } });
    agent.sendMessage("x", { ...here, runId: "r" });
    // @ts-expect-error no target
    agent.sendMessage("x");
    // @ts-expect-error no target
    agent.sendMessage("x", {});
    // @ts-expect-error a resource has many threads
    agent.sendMessage("x", { resourceId: "r" });
    // @ts-expect-error a thread belongs to a resource
    agent.sendMessage("x", { threadId: "t" });
    // @ts-expect-error a thread belongs to a resource
    agent.sendSignal(signal, { threadId: "t" });
    // @ts-expect-error no target
    agent.sendSignal(signal);
    // @ts-expect-error a queued message opens a run of its own, on a thread
    agent.queueMessage("x", { runId: "r" });
    // @ts-expect-error a state belongs to a thread
    void agent.sendStateSignal({ id: "l", cacheKey: "k", contents: "x" }, { runId: "r" });
  });

  it("tell a skipped state from one that was sent", async () => {
    const result = await agent.sendStateSignal({ id: "l", cacheKey: "k", contents: "x" }, here);
    if (result.skipped) expectTypeOf(result.reason).toEqualTypeOf<"unchanged">();
    else expectTypeOf(result.runId).toEqualTypeOf<string>();
  });

  it("number the chunks of a subscription", async () => {
    const subscription = await agent.subscribeToThread({ threadId: "t", after: 3 });
    expectTypeOf(subscription.activeRunId()).toEqualTypeOf<string | null>();
    expectTypeOf(subscription.abort()).toEqualTypeOf<boolean>();
    for await (const chunk of subscription.stream) expectTypeOf(chunk.seq).toEqualTypeOf<number>();
  });
});
