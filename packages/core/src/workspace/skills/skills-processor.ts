import type { SystemMessage } from "../../message/system-message.ts";
import { OptionChecks } from "../../processor/option-checks.ts";
import type { ProcessInputStepArgs, Processor, StepOverrides } from "../../processor/processor.ts";
import type { RequestContext } from "../../request-context/request-context.ts";
import type { ToolsInput } from "../../tool/tool.ts";
import type { Workspace } from "../workspace.ts";
import type { SkillMetadata } from "./skill.ts";
import { type SkillFormat, skillListing, SKILL_FORMATS } from "./skill-listing.ts";
import type { WorkspaceSkills } from "./workspace-skills.ts";

export interface SkillsProcessorOptions {
  /** Skills, such as `workspace.skills`. */
  skills?: WorkspaceSkills;
  /** Or the workspace that has them. Its tools for skills are added, if the agent does not have them. */
  workspace?: Workspace;
  /** How the skills are listed. Default: `"xml"`. */
  format?: SkillFormat;
  /** What is shown as the location of a skill. Default: its path. */
  formatLocation?: (skill: SkillMetadata) => string;
  /** Look for new skills before each step, instead of at most every 30 seconds. Default: false. */
  blockingRefresh?: boolean;
}

/** Lists skills in the system message, sorted by name. An agent with a workspace does so by itself. */
export class SkillsProcessor implements Processor {
  readonly id = "skills-processor";
  readonly #options: SkillsProcessorOptions;
  readonly #format: SkillFormat;

  constructor(options: SkillsProcessorOptions) {
    const check = new OptionChecks("SkillsProcessor");
    const { skills, workspace, format = "xml", formatLocation, blockingRefresh = false } = options ?? {};
    if (!skills === !workspace) check.refuse("skills", skills, "given, or workspace, and not both");
    this.#format = check.oneOf("format", format, SKILL_FORMATS);
    check.func("formatLocation", formatLocation);
    check.boolean("blockingRefresh", blockingRefresh);
    this.#options = options;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<StepOverrides | undefined> {
    const { skills: given, workspace, formatLocation, blockingRefresh } = this.#options;
    const requestContext = args.requestContext as RequestContext;
    const skills = given ?? (await workspace!.resolveSkills({ requestContext }));
    if (!skills) return undefined;
    await (blockingRefresh ? skills.refresh() : skills.maybeRefresh());
    const found = (await skills.list()).map((skill) =>
      formatLocation ? { ...skill, path: formatLocation(skill) } : skill,
    );
    const listing = skillListing(found, this.#format);
    return {
      ...withSystemMessage(args.systemMessages, listing),
      ...(workspace && { tools: { ...(await skillToolsOf(workspace, requestContext)), ...args.tools } }),
    };
  }
}

/** The step's system messages with one more, unless it is there already. */
export function withSystemMessage(
  messages: readonly SystemMessage[],
  text: string | undefined,
): { systemMessages?: SystemMessage[] } {
  const isThere = messages.some(({ content }) => typeof content === "string" && content.includes(text ?? ""));
  return text === undefined || isThere
    ? {}
    : { systemMessages: [...messages, { role: "system", content: text }] };
}

async function skillToolsOf(workspace: Workspace, requestContext: RequestContext): Promise<ToolsInput> {
  const tools = await workspace.tools({ requestContext });
  const names = ["skill", "skill_search", "skill_read"];
  return Object.fromEntries(Object.entries(tools).filter(([name]) => names.includes(name)));
}
