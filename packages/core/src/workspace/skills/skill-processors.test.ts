import { scriptedModel } from "@selvedge/testing";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Agent } from "../../agent/agent.ts";
import type { Processor } from "../../processor/processor.ts";
import { scratch } from "../__fixtures__/scratch.ts";
import { createTool } from "../../tool/tool.ts";
import { Workspace } from "../workspace.ts";
import { createSkill } from "./create-skill.ts";
import { WorkspaceInstructionsProcessor } from "../workspace-instructions-processor.ts";
import { SkillSearchProcessor } from "./skill-search-processor.ts";
import { SkillsProcessor } from "./skills-processor.ts";

function withSkills(): Workspace {
  const { root, files } = scratch();
  for (const name of ["weave", "dye"]) {
    mkdirSync(join(root, "skills", name), { recursive: true });
    const text = `---\nname: ${name}\ndescription: How to ${name} cloth.\n---\nTo ${name}, take yarn.\n`;
    writeFileSync(join(root, "skills", name, "SKILL.md"), text);
  }
  return new Workspace({ filesystem: files, skills: ["skills"] });
}

async function ask(processor: Processor, replies: Parameters<typeof scriptedModel>[0]) {
  const model = scriptedModel(replies);
  const parts = { name: "A", instructions: "Answer.", model };
  await new Agent({ ...parts, inputProcessors: [processor] }).generate("Hi.");
  return model.calls.map(({ prompt, tools = [] }) => ({
    system: JSON.stringify(prompt.filter(({ role }) => role === "system")),
    prompt: JSON.stringify(prompt),
    tools: tools.map(({ name }) => name),
  }));
}

it("lists skills sorted by name in three formats, with the tools to load them", async () => {
  const workspace = withSkills();
  const load = { toolCalls: [{ toolName: "skill", input: { name: "dye" } }] };
  const [first, second] = await ask(new SkillsProcessor({ workspace }), [load, "Done."]);
  expect(first!.system).toMatch(/<name>dye<.*<name>weave</);
  expect(first!.tools).toEqual(["skill", "skill_search", "skill_read"]);
  expect(second!.prompt).toContain("To dye, take yarn.");
  expect(second!.system).toBe(first!.system);
  const [json] = await ask(new SkillsProcessor({ skills: workspace.skills!, format: "json" }), ["Yes."]);
  expect(json!.system).toContain(String.raw`{\"name\":\"dye\"`);
  expect(json!.tools).toEqual([]);
  const formatLocation = () => "here";
  const [list] = await ask(new SkillsProcessor({ workspace, format: "markdown", formatLocation }), ["Yes."]);
  expect(list!.system).toContain("- **dye** (local, here): How to dye cloth.");
});

it("lets the model search for skills and load them", async () => {
  const call = (toolName: string, input: object) => ({ toolCalls: [{ toolName, input }] });
  const calls = await ask(new SkillSearchProcessor({ workspace: withSkills(), search: { topK: 1 } }), [
    call("search_skills", { query: "weave" }),
    call("load_skill", { skillName: "weave" }),
    "Done.",
  ]);
  expect(calls[0]!.tools).toEqual(["search_skills", "load_skill"]);
  expect(calls[0]!.system).not.toContain("How to");
  expect(calls[1]!.prompt).toContain("weave: How to weave cloth.");
  expect(calls[2]!.prompt).toContain("To weave, take yarn.");
});

it("adds the instructions of a workspace once", async () => {
  const [call] = await ask(new WorkspaceInstructionsProcessor({ workspace: withSkills() }), ["Yes."]);
  expect(call!.system.split("paths are relative to the workspace root")).toHaveLength(2);
});

it("refuses options that cannot be meant", () => {
  const workspace = withSkills();
  expect(() => new SkillsProcessor({})).toThrow("`skills` of SkillsProcessor");
  expect(() => new SkillsProcessor({ workspace, format: "yaml" as never })).toThrow("`format`");
  expect(() => new SkillSearchProcessor({} as never)).toThrow("`workspace`");
  expect(() => new SkillSearchProcessor({ workspace, search: { topK: 0 } })).toThrow("`search.topK`");
  expect(() => new WorkspaceInstructionsProcessor({} as never)).toThrow("`workspace`");
});

it("gives the runs of an agent without a workspace one and the same for its skills", async () => {
  const seen = new Set<unknown>();
  const look = createTool({
    id: "look",
    description: "Looks.",
    execute: async (_input, options) => seen.add((options as { workspace?: unknown }).workspace) && "ok",
  });
  const reply = { toolCalls: [{ toolName: "look", input: {} }] };
  const agent = new Agent({
    name: "A",
    instructions: "Answer.",
    model: scriptedModel([reply, "Done.", reply, "Done."]),
    tools: { look },
    skills: [createSkill({ name: "weave", description: "How to weave.", instructions: "Take yarn." })],
  });
  await agent.generate("Hi.");
  await agent.generate("Hi.");
  expect([...seen]).toEqual([expect.any(Workspace)]);
});
