import { AgentError, showValue } from "../errors.ts";
import type { MastraMemory, MemoryParts, MemoryRun, RunProcessor } from "../memory/memory.ts";
import { MessageList } from "../message/message-list.ts";
import type { MessagesInput } from "../message/message-input.ts";
import { toSystemMessages } from "../message/system-message.ts";
import { DEFAULT_MODEL_LIMITS, type ModelCandidate, type ModelConfig } from "../model/model.ts";
import { resolveModel } from "../model/resolve-model.ts";
import type { Processor } from "../processor/processor.ts";
import { BrowserContextProcessor } from "../browser/browser-context-processor.ts";
import type { MastraBrowser } from "../browser/mastra-browser.ts";
import type { System } from "../system.ts";
import type { WorkspaceSkills } from "../workspace/skills/workspace-skills.ts";
import type { Workspace } from "../workspace/workspace.ts";
import { RequestContext, RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import { isInsideRun, refuseOwnThread } from "../run/current-run.ts";
import type { RunSpec } from "../run/run.ts";
import type { RunJournal } from "../run/run-journal.ts";
import type { CreatedAgentSignal } from "../signal/signal.ts";
import { checkId } from "../storage/check-id.ts";
import type { Storage } from "../storage/storage.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { isProcessors } from "../run/option-rules.ts";
import type { AgentExecutionOptions, RunLimits } from "../run/run-options.ts";
import { storeOptions } from "../run/stored-options.ts";
import { ObjectFormat } from "../model/structured-output.ts";
import { validate } from "../schema/validate.ts";
import { openTelemetry, type TelemetrySettings } from "../telemetry/telemetry.ts";
import type { ToolLike, ToolsInput } from "../tool/tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import { PayloadTransform } from "../tool/transform.ts";
import type { ThreadAddress } from "../thread/threads.ts";
import type { WorkflowHost } from "../workflow/workflow-host.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import type { AgentConfig, RunProfile } from "./agent-config.ts";
import { checkOptions } from "./check-options.ts";
import { type DynamicContext, resolveDynamic } from "./dynamic.ts";
import { partsOf } from "./signal-providers.ts";
import { mergeOptions } from "./merge-options.ts";
import { showIssues } from "../schema/show-issues.ts";
import { noThread } from "../storage/no-thread.ts";

export const DEFAULT_RUN_LIMITS: RunLimits = {
  ...DEFAULT_MODEL_LIMITS,
  toolTimeoutMs: 600_000,
  toolResultBytes: 1 << 20,
  toolErrorBytes: 1 << 16,
  toolInputBytes: 1 << 20,
  toolCalls: 1000,
  runBytes: 64 << 20,
  processorTimeoutMs: 120_000,
};

/** The thread a run is on. */
interface ThreadTarget extends ThreadAddress {
  title?: string;
  metadata?: Record<string, unknown>;
}

/** A run that does not begin with a call: its thread is already in hand. */
export interface RunStart {
  journal: RunJournal;
  target: ThreadTarget;
  signals: readonly CreatedAgentSignal[];
}

/** Resolves everything that may depend on the request, once, and checks it before any model is called. */
export async function resolveRun(
  environment: AgentEnvironment,
  park: RunSpec["park"],
  input: MessagesInput,
  callOptions: AgentExecutionOptions | undefined,
  start?: RunStart,
): Promise<RunSpec> {
  const { system, host: mastra } = environment;
  checkOptions(callOptions, environment.warnUnknown);
  const requestContext = callOptions?.requestContext ?? callOptions?.runtimeContext ?? new RequestContext();
  const profile = await profileOf(environment, callOptions, requestContext, start);
  const config = profile ? { ...environment.config, ...profile.config } : environment.config;
  const context: DynamicContext = { requestContext, runtimeContext: requestContext, mastra };
  await checkContext(config, requestContext, start !== undefined);
  const defaults = config.defaultOptions && (await resolveDynamic(config.defaultOptions, context));
  const options = mergeOptions<AgentExecutionOptions>(defaults, callOptions);
  if (defaults) checkOptions(options, environment.warnUnknown);
  Object.assign(options, profile?.options);
  const maxRetries = options.maxRetries ?? options.modelSettings?.maxRetries ?? config.maxRetries;
  if (maxRetries !== undefined) options.maxRetries = maxRetries;
  if (config.maxProcessorRetries !== undefined) options.maxProcessorRetries ??= config.maxProcessorRetries;
  const model = await resolveEntries(options.model ?? (await resolveDynamic(config.model, context)), context);
  const list = new MessageList(system);
  const agentSkills = config.skills ? await resolveDynamic(config.skills, context) : [];
  const workspace =
    (await workspaceOf(environment, config, context)) ??
    (agentSkills.length > 0 ? await environment.skillsWorkspace(() => emptyWorkspace(system)) : undefined);
  const browser = config.browser ? await resolveDynamic(config.browser, context) : workspace?.browser;
  const forWorkspace = { requestContext, agentSkills };
  list.setSystemMessages([
    ...toSystemMessages(options.instructions ?? (await resolveDynamic(config.instructions, context))),
    ...toSystemMessages(await workspace?.getInstructionsAsync(forWorkspace)),
    ...toSystemMessages(options.system),
  ]);
  if (options.context !== undefined) list.add(options.context, "context");
  list.add(input, "input");
  const runId = options.runId ?? system.newId({ idType: "run", source: "agent", entityId: environment.id });
  const inputs = list.get.all.db().length;
  const memory = await openMemory(environment, options, context, model, { runId, inputs }, start);
  workspace?.useStorage(memory?.storage);
  // The tools of a session are those that its rules offer.
  const given = config.profile ? {} : { ...(await workspace?.tools(forWorkspace)), ...browser?.getTools() };
  const tools = await collectTools(environment, config, options, context, memory, given);
  const telemetry = await openTelemetry(telemetryOf(options, environment.host?.telemetry));
  const skills = await workspace?.resolveSkills(forWorkspace);
  const inputProcessors = [
    ...(await inRun(await processors(environment, "inputProcessors", options, config, context), memory?.run)),
    ...(skills ? [await skillCommand(skills)] : []),
  ];
  const outputProcessors = await processors(environment, "outputProcessors", options, config, context);
  if (!config.memory) checkLanes(config, inputProcessors);
  const provided = partsOf(environment.config.signals);
  return {
    runId,
    agent: { id: environment.id, name: environment.name },
    system,
    logger: environment.logger,
    list,
    model,
    resolveModel: rememberLast(resolveModel),
    tools,
    compileTools: (more: ToolsInput): ToolSet => environment.compiler.prepare([more]),
    options,
    requestContext,
    mastra,
    belongings: { ...(workspace && { workspace }), ...(browser && { browser }) },
    threadId: memory?.target.threadId,
    resourceId: memory?.target.resourceId,
    journal: memory?.journal,
    storage: memory?.storage,
    mayWait: options.asTool !== true,
    signals: start?.signals ?? [],
    inputProcessors: [
      ...(memory?.parts.inputProcessors ?? []),
      ...provided.inputProcessors,
      ...inputProcessors,
      ...browserContext(browser, inputProcessors),
    ],
    outputProcessors: [
      ...provided.outputProcessors,
      ...outputProcessors,
      ...(memory?.parts.outputProcessors ?? []),
    ],
    limits: options.limits ? { ...DEFAULT_RUN_LIMITS, ...options.limits } : DEFAULT_RUN_LIMITS,
    transform: openTransform(config, tools),
    telemetry,
    format: openFormat(options),
    waitUntil: (work) => environment.waitUntil(work),
    pinned: profile?.pinned,
    alongside: profile?.alongside,
    park,
  };
}

/** The models of a list of fallbacks may be functions, too. */
async function resolveEntries(model: ModelConfig, context: DynamicContext): Promise<ModelConfig> {
  if (!Array.isArray(model) || !model.some((entry) => typeof entry?.model === "function")) return model;
  return Promise.all(
    model.map(async (entry) => ({ ...entry, model: await resolveDynamic(entry.model, context) })),
  );
}

async function profileOf(
  { config }: AgentEnvironment,
  options: AgentExecutionOptions | undefined,
  requestContext: RequestContext,
  start: RunStart | undefined,
): Promise<RunProfile | undefined> {
  if (!config.profile) return undefined;
  const threadId = start?.target.threadId ?? threadIn(options, requestContext);
  const resourceId = start?.target.resourceId ?? options?.memory?.resource ?? options?.resourceId;
  return config.profile({
    threadId: typeof threadId === "string" ? threadId : undefined,
    resourceId,
    requestContext,
    pinned: options?.profile,
  });
}

/** The thread that a server fixed, or that the caller names. */
function threadIn(options: AgentExecutionOptions | undefined, requestContext: RequestContext): unknown {
  const asked = options?.memory?.thread ?? options?.threadId;
  return requestContext.get(THREAD_ID_KEY) ?? (typeof asked === "object" ? asked?.id : asked);
}

async function checkContext(
  config: AgentConfig,
  requestContext: RequestContext,
  mayBeStored: boolean,
): Promise<void> {
  if (!config.requestContextSchema) return;
  // Whose request it is, a server says; the app's schema speaks of the app's own values.
  const own = requestContext.without([RESOURCE_ID_KEY, THREAD_ID_KEY]).toJSON();
  const checked = await validate(config.requestContextSchema, own).catch((cause: unknown) => {
    if (AgentError.is(cause)) throw cause;
    throw new AgentError(
      "invalid-context",
      `The request context of agent "${config.name}" could not be checked: its schema threw.`,
      { cause },
    );
  });
  if (checked.ok) return;
  const list = showIssues(checked.issues, "context");
  throw new AgentError(
    "invalid-context",
    `The request context of agent "${config.name}" is not valid: ${list}${mayBeStored ? NOT_STORED : ""}`,
    {
      details: { issues: checked.issues },
    },
  );
}

const NOT_STORED =
  ". A run that continues in another process only has the values listed in durableContextKeys. Add the ones that the schema needs.";

/** A call's own list replaces the agent's. */
async function processors(
  environment: AgentEnvironment,
  name: "inputProcessors" | "outputProcessors",
  options: AgentExecutionOptions,
  config: AgentConfig,
  context: DynamicContext,
): Promise<Processor[]> {
  const list = options[name] ?? (config[name] && (await resolveDynamic(config[name], context))) ?? [];
  if (isProcessors(list)) return list.map((one) => environment.processorOf(one));
  throw new AgentError(
    "invalid-argument",
    `${name} must be an array of processors, each with an id, got ${showValue(list)}.`,
  );
}

/** The processors of one run: those that take part in what it stores have one object per run. */
async function inRun(list: readonly Processor[], run: MemoryRun | undefined): Promise<Processor[]> {
  const own: Processor[] = [];
  for (const one of list) own.push(run && "forRun" in one ? await (one as RunProcessor).forRun(run) : one);
  return own;
}

/** A state lane is a thing of the store: without one its processor would be silently ignored. */
function checkLanes({ name }: AgentConfig, list: readonly Processor[]): void {
  const owner = list.find((processor) => typeof processor.computeStateSignal === "function");
  if (!owner) return;
  throw new AgentError(
    "memory-required",
    `Processor "${owner.id}" has a state lane, but agent "${name}" has no memory. Pass memory: new Memory({ storage }) to the agent.`,
  );
}

interface OpenMemory {
  storage?: Storage;
  run?: MemoryRun;
  target: ThreadTarget;
  parts: MemoryParts;
  journal: RunJournal | undefined;
}

const NO_PARTS: MemoryParts = { inputProcessors: [], outputProcessors: [], tools: {} };

async function openMemory(
  environment: AgentEnvironment,
  options: AgentExecutionOptions,
  context: DynamicContext,
  model: ModelConfig,
  { runId, inputs }: { runId: string; inputs: number },
  start: RunStart | undefined,
): Promise<OpenMemory | undefined> {
  const { config, system } = environment;
  // A thread of an agent without memory lives in this process alone: it has signals and no history.
  if (start && !config.memory) return { target: start.target, parts: NO_PARTS, journal: start.journal };
  const asked = options.memory?.thread ?? options.threadId;
  const threadId = threadIn(options, context.requestContext);
  if (threadId === undefined) {
    if (options.resourceId === undefined && options.memory === undefined) return undefined;
    throw new AgentError(
      "invalid-argument",
      `A resource was given without a thread: pass memory: { thread, resource }.`,
    );
  }
  if (typeof threadId !== "string" || threadId === "") {
    throw new AgentError(
      "invalid-argument",
      `memory.thread must be a thread id or { id }, got ${showValue(asked)}.`,
    );
  }
  const memory = config.memory && (await resolveDynamic(config.memory, context));
  if (!memory) return openLiveThread(environment, options, context, threadId, runId);
  const storage = requireStorage(memory, environment);
  await storage.init();
  const details = typeof asked === "object" ? asked : undefined;
  const resourceId = await findResource(memory, options, context, threadId);
  const target: ThreadTarget = {
    threadId,
    resourceId,
    ...(details?.title !== undefined && { title: details.title }),
    ...(details?.metadata && { metadata: details.metadata }),
  };
  const memoryConfig = options.memory?.options ?? options.memoryOptions;
  const readOnly = options.memory?.readOnly ?? memoryConfig?.readOnly ?? false;
  if (!readOnly && !start) refuseOwnThread(storage, threadId);
  if (readOnly) await checkOwner(memory, target);
  else if (options.runId !== undefined && !start) await checkFree(storage, runId);
  const shown = memory.historyLimit?.(memoryConfig) ?? 0;
  const asking = { runId, options, recent: shown === 0 ? 0 : shown + inputs };
  const journal = start?.journal ?? (readOnly ? undefined : await join(environment, storage, target, asking));
  const run: MemoryRun = {
    threadId,
    resourceId,
    config: readOnly ? { ...memoryConfig, readOnly } : memoryConfig,
    requestContext: context.requestContext,
    model,
    system,
    journal,
    agent: environment.memoryAgent(storage),
  };
  return { storage, target, parts: await memory.prepareRun(run), journal, run };
}

/** A thread of an agent without memory: runs on it go one after another and can be followed, but nothing is stored. */
async function openLiveThread(
  environment: AgentEnvironment,
  options: AgentExecutionOptions,
  { requestContext }: DynamicContext,
  threadId: string,
  runId: string,
): Promise<OpenMemory> {
  environment.warnOnce(
    `Agent "${environment.name}" was given thread "${threadId}" but has no memory, so nothing is remembered. Pass memory: new Memory({ storage }) to the agent.`,
  );
  const target = { threadId, resourceId: namedResource(options, requestContext) ?? threadId };
  const { storage } = environment.threadsOf(undefined);
  refuseOwnThread(storage, threadId);
  if (options.runId !== undefined) await checkFree(storage, runId);
  return {
    target,
    parts: NO_PARTS,
    journal: await join(environment, storage, target, { runId, options, recent: 0 }),
  };
}

/** A place in the queue of a thread, for a run that stores what it does. */
function join(
  environment: AgentEnvironment,
  storage: Storage,
  { threadId, resourceId, ...details }: ThreadTarget,
  { runId, options, recent }: { runId: string; options: AgentExecutionOptions; recent: number },
): Promise<RunJournal> {
  const stored = storeOptions(options, environment.durableContextKeys);
  const request = {
    runId,
    agentId: environment.id,
    options: stored,
    nested: isInsideRun(),
    recent,
    ...details,
  };
  return environment.threadsOf(storage).join({ threadId, resourceId }, request);
}

function requireStorage(
  memory: MastraMemory,
  { config, host }: AgentEnvironment,
): NonNullable<MastraMemory["storage"]> {
  // A memory that was made for this call has not met the host yet.
  const shared = memory.storage ? undefined : host?.getStorage();
  if (shared) memory.useStorage(shared);
  if (memory.storage) return memory.storage;
  throw new AgentError(
    "storage-required",
    `The memory of agent "${config.name}" has no storage. Pass one to new Memory({ storage }), or register the agent in new Mastra({ storage }).`,
  );
}

/** A second run with the same id could never take its thread, and would wait forever. */
async function checkFree(storage: Storage, runId: string): Promise<void> {
  const [row] = await storage.select({ table: RUNS, where: { id: checkId("runId", runId) }, limit: 1 });
  if (row)
    throw new AgentError("conflict", `There is already a run "${runId}". Leave the id out, or use another.`);
}

/** A run that writes finds out when it joins the thread; one that only reads has to ask. */
async function checkOwner(memory: MastraMemory, { threadId, resourceId }: ThreadTarget): Promise<void> {
  const domain = await memory.storage?.getStore("memory");
  const thread = await domain?.getThreadById({ threadId });
  if (thread && thread.resourceId !== resourceId) {
    throw noThread(threadId, resourceId);
  }
}

/** Whose thread it is: what the server fixed, what the caller says, whose it already is, or its own. */
async function findResource(
  memory: MastraMemory,
  options: AgentExecutionOptions,
  { requestContext }: DynamicContext,
  threadId: string,
): Promise<string> {
  const said = namedResource(options, requestContext);
  if (said !== undefined) return said;
  const domain = await memory.storage?.getStore("memory");
  return (await domain?.getThreadById({ threadId }))?.resourceId ?? threadId;
}

function namedResource(options: AgentExecutionOptions, requestContext: RequestContext): string | undefined {
  const said = requestContext.get(RESOURCE_ID_KEY) ?? options.memory?.resource ?? options.resourceId;
  if (said === undefined || (typeof said === "string" && said !== "")) return said;
  throw new AgentError(
    "invalid-argument",
    `memory.resource must be a non-empty string, got ${showValue(said)}.`,
  );
}

/** The agent's workspace, or the host's. */
async function workspaceOf(
  { host }: AgentEnvironment,
  config: AgentConfig,
  context: DynamicContext,
): Promise<Workspace | undefined> {
  if (config.workspace) return resolveDynamic(config.workspace, context);
  // A session has its own.
  if (config.profile) return undefined;
  return (host as { getWorkspace?(): Workspace | undefined } | undefined)?.getWorkspace?.();
}

/** Without memory it has no lane and adds only its line to the system message. */
function browserContext(browser: MastraBrowser | undefined, own: readonly Processor[]): Processor[] {
  if (!browser || own.some(({ id }) => id === "browser-context")) return [];
  return [new BrowserContextProcessor({ browser })];
}

/** For the skills of an agent without a workspace. Loaded on use: most agents have none. */
export async function emptyWorkspace(system: System): Promise<Workspace> {
  const { Workspace } = await import("../workspace/workspace.ts");
  return new Workspace({ skills: [], system });
}

async function skillCommand(skills: WorkspaceSkills): Promise<Processor> {
  const { SkillCommand } = await import("../workspace/skills/skill-command.ts");
  return new SkillCommand(skills);
}

async function collectTools(
  environment: AgentEnvironment,
  config: AgentConfig,
  options: AgentExecutionOptions,
  context: DynamicContext,
  memory: OpenMemory | undefined,
  given: ToolsInput,
): Promise<ToolSet> {
  const { compiler, subagents, workflows: ofWorkflows, logger } = environment;
  // Where this run can wait, its subagents can.
  const storage = memory?.journal && options.asTool !== true ? memory.storage : undefined;
  const own = config.tools && (await resolveDynamic(config.tools, context));
  const agents = config.agents && (await resolveDynamic(config.agents, context));
  const workflows = config.workflows && (await resolveDynamic(config.workflows, context));
  const clientTools =
    options.clientTools && Object.fromEntries(Object.entries(options.clientTools).map(withoutExecute));
  for (const words of compiler.hidden(options.toolsets ?? {})) logger.warn(words);
  return compiler.prepare([
    memory?.parts.tools,
    given,
    partsOf(environment.config.signals).tools,
    own,
    agents && subagents.toolsFor(agents, storage),
    workflows && ofWorkflows.toolsFor(workflows, environment.host as WorkflowHost | undefined),
    ...Object.values(options.toolsets ?? {}),
    clientTools,
  ]);
}

/** A client's tool is executed by the client, even if its definition came with a function. */
function withoutExecute([name, tool]: [string, ToolLike]): [string, ToolLike] {
  return [
    name,
    {
      id: tool.id ?? name,
      description: tool.description ?? "",
      inputSchema: tool.inputSchema ?? (tool as { parameters?: unknown }).parameters,
    },
  ];
}

function openTransform(config: AgentConfig, tools: ToolSet): PayloadTransform | undefined {
  let wanted = config.transform !== undefined;
  if (!wanted) for (const tool of tools.values()) if (tool.definition.transform) wanted = true;
  return wanted
    ? new PayloadTransform(config.transform, (name) => tools.get(name)?.definition.transform)
    : undefined;
}

function openFormat(options: AgentExecutionOptions): ObjectFormat | undefined {
  if (options.output !== undefined) return new ObjectFormat({ schema: options.output }, true);
  if (options.experimental_output !== undefined)
    return new ObjectFormat({ schema: options.experimental_output }, false);
  return options.structuredOutput && new ObjectFormat(options.structuredOutput, false);
}

/** Most steps of a run use the model of the step before. */
function rememberLast(resolve: (config: ModelConfig) => Promise<ModelCandidate[]>): RunSpec["resolveModel"] {
  let last: { config: ModelConfig; candidates: ModelCandidate[] } | undefined;
  const look = async (config: ModelConfig): Promise<ModelCandidate[]> => {
    const candidates = await resolve(config);
    last = { config, candidates };
    return candidates;
  };
  return (config) => (last?.config === config ? last.candidates : look(config));
}

/** The settings of a run or of its host, with what `tracingOptions` adds to them. */
function telemetryOf(
  { telemetry, tracingOptions }: AgentExecutionOptions,
  ofHost: TelemetrySettings | undefined,
): TelemetrySettings | undefined {
  const settings = telemetry ?? ofHost;
  if (!settings || !tracingOptions) return settings;
  const { metadata, hideInput, hideOutput } = tracingOptions;
  return {
    ...settings,
    ...(metadata && { metadata: { ...settings.metadata, ...metadata } }),
    ...(hideInput && { recordInputs: false }),
    ...(hideOutput && { recordOutputs: false }),
  };
}
