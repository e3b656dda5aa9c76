import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { AgentController, type AgentControllerConfig } from "@selvedge/core/agent-controller";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { carefulObserver, LONG, omRows } from "../__fixtures__/om-world.ts";
import { Memory } from "../memory.ts";
import type { ObservationalMemoryOptions } from "./om-options.ts";

const open = { id: "s", ownerId: "o", threadId: "t" };

interface Loom {
  controller: AgentController;
  memory: Memory;
  /** The observers and reflectors by model id, made when they are first asked for. */
  models: Map<string, ScriptedModel>;
}

function loom(
  om: ObservationalMemoryOptions | true,
  config: Partial<AgentControllerConfig> = {},
  storage: Storage = new InMemoryStorage(),
): Loom {
  const models = new Map<string, ScriptedModel>();
  const memory = new Memory({ storage, onWarning: () => {}, options: { observationalMemory: om } });
  const agent = new Agent({
    name: "weaver",
    instructions: "Weave.",
    model: scriptedModel(({ index }) => `answer ${index} ${LONG}`),
  }) as unknown as Agent;
  const controller = new AgentController({
    id: "loom",
    agent,
    memory,
    storage,
    modes: [{ id: "m", metadata: { default: true } }],
    resolveModel: (id) => {
      const model = models.get(id) ?? scriptedModel(carefulObserver, { modelId: id });
      models.set(id, model);
      return model;
    },
    ...config,
  });
  return { controller, memory, models };
}

const calls = ({ models }: Loom, id: string): number => models.get(id)?.calls.length ?? 0;

describe("observational memory on a controller", () => {
  it("uses the models and thresholds of omConfig where the memory has none", async () => {
    const made = loom(true, {
      omConfig: {
        defaultObserverModelId: "acme/eye",
        defaultReflectorModelId: "acme/mind",
        defaultObservationThreshold: 500,
        defaultReflectionThreshold: 60,
      },
    });
    const session = await made.controller.createSession(open);
    for (let turn = 0; turn < 6; turn++) {
      await session.sendMessage({ content: `question ${turn} ${LONG}` });
      await made.memory.settled();
    }
    expect(calls(made, "acme/eye")).toBeGreaterThan(0);
    expect(calls(made, "acme/mind")).toBeGreaterThan(0);
    expect((await session.om.record())?.activeObservations).toContain("question 0");
    await made.controller.destroy();
  });

  it("prefers the memory's configuration to omConfig, and the session's choice to both", async () => {
    const made = loom(
      { observation: { messageTokens: 500, model: "acme/own" } },
      { omConfig: { defaultObserverModelId: "acme/eye", defaultObservationThreshold: 1_000_000 } },
    );
    const session = await made.controller.createSession(open);
    const turn = async (): Promise<void> => {
      await session.sendMessage({ content: `question ${LONG}` });
      await made.memory.settled();
    };
    await turn();
    expect([calls(made, "acme/eye"), calls(made, "acme/own")]).toEqual([0, 1]);
    await session.om.observer.switchModel({ modelId: "acme/chosen" });
    await turn();
    expect([calls(made, "acme/chosen"), calls(made, "acme/own")]).toEqual([1, 1]);
    await session.thread.setSetting({ key: "observationThreshold", value: 1_000_000 });
    expect(session.om.observer.threshold()).toBe(1_000_000);
    await turn();
    expect([calls(made, "acme/chosen"), calls(made, "acme/own")]).toEqual([1, 1]);
    await made.controller.destroy();
  });

  it("uses the model of the mode when no observer was configured and the default has no key", async () => {
    const made = loom(
      { observation: { messageTokens: 500 } },
      {
        modes: [{ id: "m", metadata: { default: true }, defaultModelId: "acme/main" }],
        resolveModel: (id) => {
          if (id.startsWith("google/")) throw new Error("no key");
          return made.models.get(id)!;
        },
      },
    );
    made.models.set(
      "acme/main",
      scriptedModel((call) => (call.index === 0 ? `answer ${LONG}` : carefulObserver(call))),
    );
    const session = await made.controller.createSession(open);
    await session.sendMessage({ content: `question ${LONG}` });
    await made.memory.settled();
    expect(calls(made, "acme/main")).toBe(2);
    await made.controller.destroy();
  });

  it("shows the thresholds that are in effect", async () => {
    const made = loom(
      { observation: { messageTokens: 777 } },
      { omConfig: { defaultObservationThreshold: 5, defaultReflectionThreshold: 888 } },
    );
    await made.controller.init();
    const seen: unknown[] = [];
    made.controller.session.subscribe((event) => {
      if (event.type === "om_status") seen.push((event.windows as { active: unknown }).active);
    });
    await made.controller.loadOMProgress();
    expect(seen).toMatchObject([{ messages: { threshold: 777 }, observations: { threshold: 888 } }]);
    await made.controller.destroy();
  });

  it("carries out jobs that another process left, once the controller starts", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-om-"));
    const stores = [0, 1].map(() => new LibSQLStore({ url: `file:${join(folder, "store.db")}` }));
    const om = { observation: { messageTokens: 500, model: "acme/eye" } };
    // The first process never finishes: its observer does not answer.
    const never = scriptedModel(async () => new Promise<never>(() => {}));
    const first = loom(om, { resolveModel: () => never }, stores[0]);
    const session = await first.controller.createSession(open);
    await session.sendMessage({ content: `question ${LONG}` });
    await expect.poll(() => never.calls.length).toBe(1);
    await first.controller.destroy();
    const second = loom(om, {}, stores[1]);
    await second.controller.init();
    await expect.poll(async () => (await omRows(stores[1]!)).chunks.length).toBe(1);
    await second.controller.destroy();
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    [{ defaultObservationThreshold: 0 }, "omConfig.defaultObservationThreshold"],
    [{ defaultReflectionThreshold: 1.5 }, "omConfig.defaultReflectionThreshold"],
    [{ defaultObserverModelId: "" }, "omConfig.defaultObserverModelId"],
  ])("refuses omConfig %j", (omConfig, path) => {
    expect(() => loom(true, { omConfig })).toThrow(path);
  });
});
