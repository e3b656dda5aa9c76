import { OptionChecks } from "../../processor/option-checks.ts";
import type { ProcessInputStepArgs, Processor, StepOverrides } from "../../processor/processor.ts";
import type { RequestContext } from "../../request-context/request-context.ts";
import { createTool, type ToolsInput } from "../../tool/tool.ts";
import { showSkill } from "../tools/skill-tools.ts";
import type { Workspace } from "../workspace.ts";
import { withSystemMessage } from "./skills-processor.ts";
import type { WorkspaceSkills } from "./workspace-skills.ts";

export interface SkillSearchProcessorOptions {
  workspace: Workspace;
  search?: {
    /** Default: 5. */
    topK?: number;
    /** Results below it are left out. Default: 0. */
    minScore?: number;
  };
  /** Has no effect: what a skill says is the result of a call, and stays in the conversation. */
  ttl?: number;
  /** Look for new skills before each step, instead of at most every 30 seconds. Default: false. */
  blockingRefresh?: boolean;
}

const HINT =
  "You have skills: instructions for certain tasks. Find them with search_skills, and load one with load_skill before you start its task.";

/** Lets the model search for skills and load them, instead of listing all in the system message. */
export class SkillSearchProcessor implements Processor {
  readonly id = "skill-search";
  readonly #options: SkillSearchProcessorOptions;
  readonly #topK: number;
  readonly #minScore: number;

  constructor(options: SkillSearchProcessorOptions) {
    const check = new OptionChecks("SkillSearchProcessor");
    const {
      workspace,
      search: { topK = 5, minScore = 0 } = {},
      ttl = 0,
      blockingRefresh = false,
    } = options ?? {};
    if (typeof workspace?.resolveSkills !== "function") check.refuse("workspace", workspace, "a workspace");
    this.#topK = check.integer("search.topK", topK, 1);
    this.#minScore = check.number("search.minScore", minScore, 0);
    check.number("ttl", ttl, 0);
    check.boolean("blockingRefresh", blockingRefresh);
    this.#options = options;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<StepOverrides | undefined> {
    const { workspace, blockingRefresh } = this.#options;
    const skills = await workspace.resolveSkills({ requestContext: args.requestContext as RequestContext });
    if (!skills) return undefined;
    await (blockingRefresh ? skills.refresh() : skills.maybeRefresh());
    return {
      ...withSystemMessage(args.systemMessages, HINT),
      tools: { ...args.tools, ...this.#tools(skills) },
    };
  }

  #tools(skills: WorkspaceSkills): ToolsInput {
    const field = (name: string, description: string) => ({
      type: "object" as const,
      properties: { [name]: { type: "string" as const, minLength: 1, description } },
      required: [name],
      additionalProperties: false,
    });
    return {
      search_skills: createTool({
        id: "search_skills",
        description: "Find skills by what they are about.",
        inputSchema: field("query", "What the task is about."),
        idempotent: true,
        execute: async (_input) =>
          this.#search(skills, (_input as unknown as { context: { query: string } }).context.query),
      }),
      load_skill: createTool({
        id: "load_skill",
        description: "Load the instructions of a skill.",
        inputSchema: field("skillName", "The name or path of a skill."),
        idempotent: true,
        execute: async (_input) =>
          showSkill(skills, (_input as unknown as { context: { skillName: string } }).context.skillName),
      }),
    };
  }

  async #search(skills: WorkspaceSkills, query: string): Promise<string> {
    const descriptions = new Map((await skills.list()).map(({ name, description }) => [name, description]));
    const hits = await skills.search(query, { topK: this.#topK });
    const names = new Set(
      hits.filter(({ score }) => score >= this.#minScore).map(({ skillName }) => skillName),
    );
    if (names.size === 0) return `No skill is about ${JSON.stringify(query)}.`;
    return [...names].map((name) => `${name}: ${descriptions.get(name) ?? ""}`).join("\n");
  }
}
