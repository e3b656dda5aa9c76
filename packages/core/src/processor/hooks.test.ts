import { readFileSync } from "node:fs";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import * as ready from "../exports/processors.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { forEachHook, HOOKS } from "./hooks.ts";
import type { Processor } from "./processor.ts";

const PAGE = readFileSync(new URL("../../../../docs/processors.md", import.meta.url), "utf8");

describe("docs/processors.md", () => {
  it.each(Object.keys(HOOKS))("describes the hook %s", (hook) => {
    expect(PAGE).toContain(`\`${hook}\``);
  });

  it.each(Object.keys(ready))("describes the processor %s", (name) => {
    expect(PAGE).toContain(name.replace(/^TokenLimiterProcessor$/, "TokenLimiter"));
  });
});

describe("hooks", () => {
  it("are all called during a run that fails once, calls a tool and answers", async () => {
    const called = new Set<string>();
    const note = (hook: string): void => void called.add(hook);
    const processor = {
      id: "all",
      ...forEachHook((hook) => () => note(hook)),
      processOutputStream: ({ part }) => (note("processOutputStream"), part),
      processAPIError: () => (note("processAPIError"), { retry: true }),
    } satisfies Processor;
    let failures = 1;
    const model = scriptedModel(({ index }) => {
      if (failures-- > 0) throw new Error("The model is not available.");
      return index < 2 ? { toolCalls: [{ toolName: "look", input: {} }] } : "Done.";
    });
    const agent = new Agent({
      name: "all",
      instructions: "",
      model,
      maxRetries: 0,
      tools: { look: createTool({ id: "look", description: "Looks.", execute: () => ({ seen: true }) }) },
      memory: new Memory({ storage: new InMemoryStorage() }),
      inputProcessors: [processor],
      outputProcessors: [processor],
      maxProcessorRetries: 1,
    });
    await agent.generate("Look.", { memory: { thread: "t", resource: "r" } });
    expect([...called].sort()).toEqual(Object.keys(HOOKS).sort());
  });
});
