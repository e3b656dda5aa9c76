import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it, vi } from "vitest";
import { TaskSignalProvider } from "../agent-controller/task-signal-provider.ts";
import { silentLogger } from "../logger.ts";
import { agentWith, bareMemory } from "./__fixtures__/agent-with.ts";
import { SignalProvider, type SignalSubscription } from "./signal-provider.ts";
import { WebhookSignalProvider } from "./webhook-signal-provider.ts";

const TARGET = { threadId: "t", resourceId: "r" };
const READY = "It is ready.";

class Builds extends SignalProvider<"builds"> {
  readonly id = "builds";
  override readonly pollInterval = 1000;
  polls = 0;
  fails = false;

  watch(resource: string): SignalSubscription {
    return this.subscribe(TARGET, resource);
  }

  forget(resource: string): boolean {
    return this.unsubscribe(TARGET, resource);
  }

  override async poll(subscriptions: SignalSubscription[]): Promise<void> {
    this.polls += 1;
    if (this.fails) throw new Error("no network");
    for (const one of subscriptions)
      await this.notify(
        { source: "ci", kind: "build", summary: `${one.externalResourceId} failed`, priority: "high" },
        TARGET,
      );
  }
}

describe("SignalProvider", () => {
  it("notifies the threads that subscribed when it polls", async () => {
    const system = virtualSystem();
    const builds = new Builds();
    const { agent, model } = agentWith(["Looking into it."], {
      memory: bareMemory(),
      signals: [builds],
      system,
    });
    builds.watch("repo#1");
    await system.advance(1000);
    await expect.poll(() => JSON.stringify(model.calls[0]?.prompt ?? "")).toContain("repo#1 failed");
    expect(builds.forget("repo#1")).toBe(true);
    await agent.close();
  });

  it("polls again after a poll that failed, and stops with the agent", async () => {
    const system = virtualSystem();
    const warn = vi.fn();
    const builds = new Builds();
    builds.fails = true;
    const { agent } = agentWith([], { signals: [builds], system, logger: { ...silentLogger, warn } });
    await system.advance(1000);
    await system.advance(1000);
    expect(builds.polls).toBe(2);
    expect(warn.mock.calls[0]![0]).toMatch(/Polling of signal provider "builds" failed/);
    await agent.close();
    await system.advance(10_000);
    expect(builds.polls).toBe(2);
  });

  it("refuses what is not a provider, and warns about one that has an agent", () => {
    expect(() => agentWith([], { signals: [{}] as never })).toThrow(
      /signals must be an array of signal providers/,
    );
    const provider = new WebhookSignalProvider();
    const warn = vi.fn();
    agentWith([], { signals: [provider] });
    agentWith([], { signals: [provider], logger: { ...silentLogger, warn } });
    expect(warn.mock.calls[0]![0]).toMatch(/already belongs to another agent/);
  });
});

describe("WebhookSignalProvider", () => {
  it("notifies the threads of the resource that a body names, and no other", async () => {
    const hooks = new WebhookSignalProvider({
      extractResourceId: (body) => (body as { repository: string }).repository,
      buildNotification: (body, { externalResourceId }) => ({
        source: "ci",
        kind: "build",
        priority: "high",
        summary: `${externalResourceId}: ${(body as { status: string }).status}`,
      }),
    });
    const { agent, model } = agentWith(["Noted."], { memory: bareMemory(), signals: [hooks] });
    hooks.subscribeThread(TARGET, "org/repo");
    hooks.subscribeThread({ ...TARGET, threadId: "other" }, "org/else");
    const answer = await hooks.handleWebhook({
      body: { repository: "org/repo", status: "red" },
      headers: {},
    });
    expect(answer).toEqual({ status: 200, body: { notified: 1 } });
    await expect.poll(() => JSON.stringify(model.calls[0]?.prompt ?? "")).toContain("org/repo: red");
    expect(model.calls).toHaveLength(1);
    expect(await hooks.handleWebhook({ body: {}, headers: {} })).toMatchObject({ status: 400 });
    await agent.close();
  });
});

describe("TaskSignalProvider", () => {
  it("gives the agent a task list that the model reads in its next step", async () => {
    const tasks = [{ content: "Fix the login", status: "in_progress", activeForm: "Fixing the login" }];
    const { agent, model } = agentWith(
      [{ toolCalls: [{ toolName: "task_write", input: { tasks } }] }, "On it.", "Still on it."],
      { memory: bareMemory(), signals: [new TaskSignalProvider()] },
    );
    const memory = { thread: TARGET.threadId, resource: TARGET.resourceId };
    expect((await agent.generate("Fix the login.", { memory })).text).toBe("On it.");
    await agent.generate("And?", { memory });
    expect(JSON.stringify(model.calls[2]!.prompt)).toMatch(/<tasks[^]*Fix the login/);
  });

  it("does not stop an agent without memory", async () => {
    const { agent } = agentWith([READY], { signals: [new TaskSignalProvider()] });
    expect((await agent.generate("Ready?")).text).toBe(READY);
  });
});
