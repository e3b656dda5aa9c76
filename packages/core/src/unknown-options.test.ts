import { scriptedModel } from "@selvedge/testing";
import { expect, it, vi } from "vitest";
import { Agent } from "./agent/agent.ts";
import { checkNode } from "./errors.ts";
import { silentLogger } from "./logger.ts";
import { Mastra } from "./mastra/mastra.ts";
import { createTool } from "./tool/tool.ts";

function recorder() {
  const warn = vi.fn();
  return {
    logger: { ...silentLogger, warn },
    warned: () => warn.mock.calls.map(([words]) => words as string),
  };
}

it("warns once about an option of a call that nothing reads, with the likely name", async () => {
  const { logger, warned } = recorder();
  const agent = new Agent({ name: "a", instructions: "", model: scriptedModel(["1", "2"]), logger });
  await agent.generate("x", { maxStep: 2 } as never);
  await agent.generate("y", { maxStep: 2, autoResumeSuspendedTools: true } as never);
  expect(warned()).toEqual([
    'A run of agent "a" has no option "maxStep", so it is ignored. Did you mean "maxSteps"?',
    'A run of agent "a" has no option "autoResumeSuspendedTools", so it is ignored.',
  ]);
});

it("warns about unknown options of constructors", () => {
  const { logger, warned } = recorder();
  new Agent({ name: "a", instructions: "", model: scriptedModel([]), logger, instruction: "x" } as never);
  new Mastra({ logger, storages: {} } as never);
  expect(warned()).toEqual([
    'new Agent() has no option "instruction", so it is ignored. Did you mean "instructions"?',
    'new Mastra() has no option "storages", so it is ignored. Did you mean "storage"?',
  ]);
  const console_ = vi.spyOn(console, "warn").mockImplementation(() => {});
  createTool({ id: "t", description: "", inputShema: {} } as never);
  expect(console_.mock.calls[0]![0]).toMatch(/Tool "t" has no option "inputShema".*"inputSchema"/);
  console_.mockRestore();
});

it("says which Node is needed", () => {
  expect(() => checkNode("20.20.2")).toThrow(
    "Selvedge needs Node.js 22.13 or later, but this is Node.js 20.20.2. Install a newer one from https://nodejs.org.",
  );
  expect(() => checkNode("22.12.0")).toThrow(/22\.13/);
  for (const version of ["22.13.0", "24.1.0", undefined]) expect(() => checkNode(version)).not.toThrow();
});
