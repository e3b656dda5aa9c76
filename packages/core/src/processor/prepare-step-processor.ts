import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputStepArgs, Processor, StepOverrides } from "./processor.ts";

export interface PrepareStepOptions {
  /** Returns the changes for the step. System messages stay, unless it returns others. */
  prepareStep: (
    args: ProcessInputStepArgs,
  ) => StepOverrides | undefined | void | Promise<StepOverrides | undefined | void>;
}

/** `prepareStep` as a processor, so that it has a place among others. */
export class PrepareStepProcessor implements Processor {
  readonly id = "prepare-step";
  readonly #prepareStep: PrepareStepOptions["prepareStep"];

  constructor(options: PrepareStepOptions) {
    const check = new OptionChecks("PrepareStepProcessor");
    if (!options?.prepareStep) check.refuse("prepareStep", options?.prepareStep, "a function");
    this.#prepareStep = check.func("prepareStep", options.prepareStep);
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<StepOverrides | undefined> {
    return (await this.#prepareStep(args)) ?? undefined;
  }
}
