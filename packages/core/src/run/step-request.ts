import { toSystemMessages } from "../message/system-message.ts";
import { applySettings, candidateOptions } from "../model/candidate-options.ts";
import { openModelReply } from "../model/open-model-reply.ts";
import type { ModelCallOptions, ModelCandidate, ModelReply } from "../model/model.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { Run } from "./run.ts";
import type { PreparedStep } from "./run-options.ts";
import { computeStates } from "./state-signals.ts";
import { ObjectFormat } from "./structured-output.ts";

/** A step's own settings: the run's, with what processors and `prepareStep` changed. */
export interface StepSettings extends PreparedStep {
  candidates: ModelCandidate[];
  toolSet: ToolSet;
}

const DEFAULT_MAX_RETRIES = 2;
/** How often `processAPIError` may have a call made again, where `maxProcessorRetries` does not say. */
const DEFAULT_API_RETRIES = 10;
const NO_TOOLS: ToolSet = new Map();

/** What this step asks the model, with whom and with which tools. */
export async function prepareStep(run: Run, stepNumber: number): Promise<StepSettings> {
  const { spec } = run;
  const { options, list } = spec;
  const changes = await run.pipeline.inputStep(list, () => ({
    stepNumber,
    steps: run.steps,
    model: spec.model,
    tools: Object.fromEntries([...spec.tools].map(([name, tool]) => [name, tool.definition])),
    toolChoice: options.toolChoice,
    activeTools: options.activeTools,
    providerOptions: options.providerOptions as never,
    modelSettings: options.modelSettings,
    structuredOutput: run.format?.options,
    messageId: run.responseId,
    rotateResponseMessageId: () => (run.responseId = spec.system.newId()),
  }));
  await computeStates(run, stepNumber);
  const { structuredOutput } = changes;
  if (structuredOutput && structuredOutput !== run.format?.options)
    run.format = new ObjectFormat(structuredOutput, false);
  const prepared = options.prepareStep?.({
    stepNumber,
    steps: run.steps,
    model: changes.model ?? spec.model,
    messages: list.get.all.model(),
  });
  const own = await run.patience.for("prepareStep", prepared);
  const merged: PreparedStep = { ...changes, ...own } as PreparedStep;
  const ownTools = merged.tools ? spec.compileTools(merged.tools) : spec.tools;
  const toolSet = run.format?.exclusive ? NO_TOOLS : ownTools;
  const activeTools = merged.activeTools ?? options.activeTools;
  return {
    ...merged,
    ...(activeTools && { activeTools }),
    toolSet,
    candidates: await spec.resolveModel(merged.model ?? spec.model),
  };
}

/** The reply, or `undefined` when a processor asked for the rejected call to be made again. */
export async function openReply(
  run: Run,
  stepNumber: number,
  settings: StepSettings,
): Promise<ModelReply | undefined> {
  const { spec } = run;
  const request = await run.pipeline.request(buildRequest(run, settings), stepNumber);
  try {
    return await openModelReply(settings.candidates, (candidate) => candidateOptions(request, candidate), {
      limits: spec.limits,
      maxRetries: spec.options.maxRetries ?? DEFAULT_MAX_RETRIES,
      system: spec.system,
      abortSignal: run.controller.signal,
      onRetry: (retry) =>
        spec.logger.debug(`Model call of run ${spec.runId} failed and is tried again`, retry.error),
    });
  } catch (error) {
    const retries = spec.options.maxProcessorRetries ?? DEFAULT_API_RETRIES;
    const again = !run.aborted && (await run.pipeline.apiError(error, stepNumber, spec.list));
    if (!again || run.retries >= retries) throw error;
    run.pipeline.retryCount = ++run.retries;
    return undefined;
  }
}

function buildRequest(run: Run, settings: StepSettings): ModelCallOptions {
  const { spec } = run;
  const { options, list } = spec;
  const { format } = run;
  const prompt = settings.messages ? [...list.getSystemMessages(), ...settings.messages] : list.toPrompt();
  if (settings.system !== undefined) {
    const rest = prompt.filter((message) => message.role !== "system");
    prompt.splice(0, prompt.length, ...toSystemMessages(settings.system), ...rest);
  }
  const tools = [...settings.toolSet.values()]
    .filter((tool) => !settings.activeTools || settings.activeTools.includes(tool.name))
    .map((tool) => tool.declaration);
  const toolChoice = settings.toolChoice ?? options.toolChoice;
  const asksForJson = format && !format.options.model;
  const injects = asksForJson && format.options.jsonPromptInjection;
  if (injects) prompt.unshift({ role: "system", content: format.prompt });
  const providerOptions = settings.providerOptions ?? options.providerOptions;
  const request: ModelCallOptions = {
    prompt,
    ...(options.temperature !== undefined && { temperature: options.temperature }),
    ...(tools.length > 0 && {
      tools,
      toolChoice: typeof toolChoice === "object" ? toolChoice : { type: toolChoice ?? "auto" },
    }),
    ...(asksForJson && !injects && { responseFormat: { type: "json", schema: format.jsonSchema as never } }),
    ...(providerOptions && { providerOptions: providerOptions as never }),
    ...(options.includeRawChunks && { includeRawChunks: true }),
  };
  if (options.modelSettings) applySettings(request, options.modelSettings);
  if (settings.modelSettings) applySettings(request, settings.modelSettings);
  return request;
}
