import { realSystem, type MemoryConfig } from "@selvedge/core/memory";
import type { ModelConfig } from "@selvedge/core/model";
import { RequestContext } from "@selvedge/core/request-context";
import { InMemoryStorage } from "@selvedge/core/storage";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { runOn } from "./__fixtures__/run-processors.ts";
import { Memory } from "./memory.ts";
import { toTitle } from "./thread-title.ts";
import type { MemoryWarning } from "./warning.ts";

const owner = { threadId: "t", resourceId: "r" };

async function titled(options: {
  model: ModelConfig;
  config?: MemoryConfig;
  title?: string;
  question?: string;
}): Promise<{ title: string | undefined; warnings: MemoryWarning[]; memory: Memory }> {
  const warnings: MemoryWarning[] = [];
  const memory = new Memory({
    storage: new InMemoryStorage(),
    onWarning: (warning) => void warnings.push(warning),
  });
  await memory.createThread({ ...owner, title: options.title });
  const config = options.config ?? { threads: { generateTitle: true } };
  const run = {
    ...owner,
    config,
    requestContext: new RequestContext(),
    model: options.model,
    system: realSystem,
  };
  const { outputProcessors } = await memory.prepareRun(run);
  await runOn(owner, options.question ?? "How do I bake rye bread?").output(outputProcessors, "Slowly.");
  return { title: (await memory.getThreadById(owner))?.title, warnings, memory };
}

describe("ThreadTitle", () => {
  it("names a thread from its first message with the agent's model", async () => {
    const model = scriptedModel(['"Baking rye\nbread"']);
    expect((await titled({ model })).title).toBe("Baking rye bread");
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("How do I bake rye bread?");
  });

  it("leaves a title that is there, and asks no model", async () => {
    const model = scriptedModel([]);
    expect((await titled({ model, title: "Mine" })).title).toBe("Mine");
    expect(model.calls).toHaveLength(0);
  });

  it("uses a model and instructions of its own, made for the request", async () => {
    const agents = scriptedModel([]);
    const cheap = scriptedModel(["Brot"]);
    const generateTitle = {
      model: ({ requestContext }: { requestContext: RequestContext }) => (requestContext ? cheap : agents),
      // The older form: the context itself.
      instructions: async (context: RequestContext) => {
        expect(context).toBeInstanceOf(RequestContext);
        return `Answer in ${context.get("language")}.`;
      },
    };
    expect((await titled({ model: agents, config: { threads: { generateTitle } } })).title).toBe("Brot");
    expect(JSON.stringify(cheap.calls[0]?.prompt)).toContain("Answer in German.");
  });

  it("keeps a title a person gave while the model was thinking", async () => {
    let memory: Memory | undefined;
    const storage = new InMemoryStorage();
    const model = scriptedModel(async () => {
      await memory!.updateThread({ id: "t", title: "Named by hand" });
      return "Too late";
    });
    memory = new Memory({ storage, options: { generateTitle: true } });
    await memory.createThread(owner);
    const run = {
      ...owner,
      config: undefined,
      requestContext: new RequestContext(),
      model,
      system: realSystem,
    };
    await runOn(owner, "hi").output((await memory.prepareRun(run)).outputProcessors, "hello");
    expect((await memory.getThreadById(owner))?.title).toBe("Named by hand");
  });

  it("turns a failing model into a warning", async () => {
    const model = scriptedModel(() => ({ error: new Error("no credit") }));
    const { title, warnings } = await titled({ model: [{ model, maxRetries: 0 }] });
    expect(title).toBeUndefined();
    expect(warnings).toMatchObject([{ message: expect.stringContaining('thread "t"') }]);
  });

  it("names nothing when the memory is read only", async () => {
    const model = scriptedModel([]);
    expect((await titled({ model, config: { generateTitle: true, readOnly: true } })).title).toBeUndefined();
  });
});

describe("toTitle", () => {
  it("is one line of at most 120 characters without quotation marks", () => {
    expect(toTitle("  “A\n  title”  ")).toBe("A title");
    expect(toTitle("**Bold**")).toBe("Bold");
    expect(toTitle("It's a dog's life")).toBe("It's a dog's life");
    const long = toTitle("🦊".repeat(200));
    expect(long.length).toBeLessThanOrEqual(120);
    expect(long.isWellFormed()).toBe(true);
  });
});
