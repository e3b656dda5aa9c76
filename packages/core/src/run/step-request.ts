import { toSystemMessages } from "../message/system-message.ts";
import { applySettings, candidateOptions } from "../model/candidate-options.ts";
import { openModelReply } from "../model/open-model-reply.ts";
import type { ModelCallOptions, ModelCandidate, ModelConfig, ModelReply } from "../model/model.ts";
import type { ReadyResponse, StepOverrides } from "../processor/processor.ts";
import type { PreparedTool, ToolSet } from "../tool/tool-set.ts";
import type { Run } from "./run.ts";
import type { PreparedStep } from "./run-options.ts";
import { computeStates } from "./state-signals.ts";
import { ObjectFormat } from "../model/structured-output.ts";

/** A step's own settings: the run's, with the changes of processors and `prepareStep`. */
export interface StepSettings extends PreparedStep {
  candidates: ModelCandidate[];
  toolSet: ToolSet;
}

const DEFAULT_MAX_RETRIES = 2;
/** How often `processAPIError` may have a call retried, if `maxProcessorRetries` is not set. */
const DEFAULT_API_RETRIES = 10;
const NO_TOOLS: ToolSet = new Map();

/** The request of this step: prompt, model and tools. Asynchronous only if a processor or callback takes part. */
export function prepareStep(run: Run, stepNumber: number): StepSettings | Promise<StepSettings> {
  const { spec, pipeline } = run;
  if (pipeline.seesStepInput || pipeline.tellsStates || spec.options.prepareStep)
    return askOthers(run, stepNumber);
  return withModel(run, {});
}

async function askOthers(run: Run, stepNumber: number): Promise<StepSettings> {
  const { spec, pipeline } = run;
  const changes = pipeline.seesStepInput ? await processStepInput(run, stepNumber) : undefined;
  if (pipeline.tellsStates) await computeStates(run, stepNumber);
  const structuredOutput = changes?.structuredOutput;
  if (structuredOutput && structuredOutput !== run.format?.options)
    run.format = new ObjectFormat(structuredOutput, false);
  const own = spec.options.prepareStep && (await askApp(run, stepNumber, changes?.model));
  return withModel(run, { ...changes, ...own } as PreparedStep);
}

function withModel({ spec, format }: Run, step: PreparedStep): StepSettings | Promise<StepSettings> {
  const tools = step.tools ? spec.compileTools(step.tools) : spec.tools;
  const toolSet = format?.exclusive ? NO_TOOLS : tools;
  if (spec.options.activeTools) step.activeTools ??= spec.options.activeTools;
  const found = spec.resolveModel(step.model ?? spec.model);
  return found instanceof Promise
    ? found.then((candidates) => ({ ...step, toolSet, candidates }))
    : { ...step, toolSet, candidates: found };
}

function processStepInput(run: Run, stepNumber: number): Promise<StepOverrides> {
  const { spec } = run;
  const { options } = spec;
  return run.pipeline.inputStep(spec.list, {
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
    rotateResponseMessageId: () => run.newResponseId(),
  });
}

async function askApp(
  run: Run,
  stepNumber: number,
  model: ModelConfig | undefined,
): Promise<PreparedStep | undefined | void> {
  const { options, list, model: usual } = run.spec;
  const messages = list.get.all.model();
  const prepared = options.prepareStep!({ stepNumber, steps: run.steps, model: model ?? usual, messages });
  return run.patience.for("prepareStep", prepared);
}

/** The reply, a processor's ready reply, or `undefined` if a processor asked to retry the rejected call. */
export function openReply(
  run: Run,
  stepNumber: number,
  settings: StepSettings,
): Promise<ModelReply | ReadyResponse | undefined> {
  const { seesRequests, seesErrors } = run.pipeline;
  return seesRequests || seesErrors
    ? openWithProcessors(run, stepNumber, settings)
    : askModel(run, settings, buildRequest(run, settings));
}

async function openWithProcessors(
  run: Run,
  stepNumber: number,
  settings: StepSettings,
): Promise<ModelReply | ReadyResponse | undefined> {
  const { spec } = run;
  let request = buildRequest(run, settings);
  if (run.pipeline.seesRequests) {
    const { provider, modelId } = settings.candidates[0]!.model;
    const answer = await run.pipeline.request(request, { stepNumber, model: { provider, modelId } });
    if ("response" in answer) return answer.response;
    ({ request } = answer);
  }
  try {
    return await askModel(run, settings, request);
  } catch (error) {
    const retries = spec.options.maxProcessorRetries ?? DEFAULT_API_RETRIES;
    const again = !run.aborted && (await run.pipeline.apiError(error, stepNumber, spec.list));
    if (!again || run.retries >= retries) throw error;
    run.pipeline.retryCount = ++run.retries;
    return undefined;
  }
}

function askModel(
  { spec, controller, timers }: Run,
  { candidates }: StepSettings,
  request: ModelCallOptions,
): Promise<ModelReply> {
  return openModelReply(candidates, (candidate) => candidateOptions(request, candidate), {
    limits: spec.limits,
    maxRetries: spec.options.maxRetries ?? DEFAULT_MAX_RETRIES,
    system: spec.system,
    timers,
    abortSignal: controller.signal,
    onRetry: (retry) =>
      spec.logger.debug(`Model call of run ${spec.runId} failed and is retried`, retry.error),
  });
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
  const asksForJson = format && !format.options.model;
  const injects = asksForJson && format.options.jsonPromptInjection;
  if (injects) prompt.unshift({ role: "system", content: format.prompt });
  const request: ModelCallOptions = { prompt };
  if (options.temperature !== undefined) request.temperature = options.temperature;
  const tools = declarations(settings);
  if (tools.length > 0) {
    const toolChoice = settings.toolChoice ?? options.toolChoice;
    request.tools = tools;
    request.toolChoice = typeof toolChoice === "object" ? toolChoice : { type: toolChoice ?? "auto" };
  }
  if (asksForJson && !injects) request.responseFormat = { type: "json", schema: format.jsonSchema as never };
  const providerOptions = settings.providerOptions ?? options.providerOptions;
  if (providerOptions) request.providerOptions = providerOptions as never;
  if (options.includeRawChunks) request.includeRawChunks = true;
  if (options.modelSettings) applySettings(request, options.modelSettings);
  if (settings.modelSettings) applySettings(request, settings.modelSettings);
  return request;
}

function declarations({ toolSet, activeTools }: StepSettings): PreparedTool["declaration"][] {
  const tools: PreparedTool["declaration"][] = [];
  for (const { name, declaration } of toolSet.values())
    if (!activeTools || activeTools.includes(name)) tools.push(declaration);
  return tools;
}
