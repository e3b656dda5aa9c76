import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { gate, HERE, ON, onThread } from "../agent/__fixtures__/on-thread.ts";

const never = () => new Promise<never>(() => {});

describe("code of the app that never answers", () => {
  const hooks = [
    "processInput",
    "processInputStep",
    "processLLMRequest",
    "processOutputStream",
    "processLLMResponse",
    "processOutputStep",
    "processOutputResult",
  ];

  it.each([...hooks, "prepareStep", "stopWhen", "onChunk", "onStepFinish"])(
    "does not keep an aborted run from ending: %s",
    async (name) => {
      const system = virtualSystem();
      const begun = gate();
      const hang = () => {
        begun.open();
        return never();
      };
      const processor = { id: "stuck", [name]: hang } as never;
      const isHook = hooks.includes(name);
      const { agent } = agentWith(["hello", "again"], {
        system,
        ...(isHook && { inputProcessors: [processor], outputProcessors: [processor] }),
      });
      const controller = new AbortController();
      const output = await agent.stream("hi", {
        abortSignal: controller.signal,
        ...(!isHook && { [name]: hang }),
      });
      await begun.opened;
      controller.abort();
      const types = (await system.until(Array.fromAsync(output.fullStream))).map((chunk) => chunk.type);
      const over = name === "onStepFinish" ? ["finish", "success"] : ["abort", "canceled"];
      expect([types.at(-1), output.status]).toEqual(over);
    },
  );

  it("does not keep a thread, even where the run cannot be prepared", async () => {
    const system = virtualSystem();
    const begun = gate();
    let first = true;
    const { agent, follow, idle, history } = onThread(["second"], {
      system,
      instructions: () => {
        if (!first) return "Be brief.";
        first = false;
        begun.open();
        return never();
      },
    });
    const reader = await follow();
    await agent.sendMessage("one", HERE).admitted;
    await begun.opened;
    expect(reader.subscription.abort()).toBe(true);
    await system.until(reader.until("abort"));
    await system.until(idle());
    expect((await system.until(agent.generate("two", ON))).text).toBe("second");
    expect(await history()).toEqual(["signal: one", "user: two", "assistant: second"]);
    reader.stop();
  });
});
