import { OptionChecks } from "../processor/option-checks.ts";
import type { ProcessInputStepArgs, Processor, StepOverrides } from "../processor/processor.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { withSystemMessage } from "./skills/skills-processor.ts";
import type { Workspace } from "./workspace.ts";

export interface WorkspaceInstructionsProcessorOptions {
  workspace: Workspace;
}

/** Adds the instructions of a workspace as a system message. An agent with a workspace does so by itself. */
export class WorkspaceInstructionsProcessor implements Processor {
  readonly id = "workspace-instructions-processor";
  readonly #workspace: Workspace;

  constructor(options: WorkspaceInstructionsProcessorOptions) {
    const check = new OptionChecks("WorkspaceInstructionsProcessor");
    if (typeof options?.workspace?.getInstructionsAsync !== "function")
      check.refuse("workspace", options?.workspace, "a workspace");
    this.#workspace = options.workspace;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<StepOverrides | undefined> {
    const requestContext = args.requestContext as RequestContext;
    return withSystemMessage(
      args.systemMessages,
      await this.#workspace.getInstructionsAsync({ requestContext }),
    );
  }
}
