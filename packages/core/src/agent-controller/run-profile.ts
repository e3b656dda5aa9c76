import type { JSONValue } from "@selvedge/protocol";
import type { AgentConfig, RunAddress, RunProfile } from "../agent/agent-config.ts";
import { type DynamicContext, resolveDynamic } from "../agent/dynamic.ts";
import type { MastraBrowser } from "../browser/mastra-browser.ts";
import type { Instructions } from "../message/system-message.ts";
import type { ModelConfig } from "../model/model.ts";
import type { Processor } from "../processor/processor.ts";
import type { StepAddition, StepRecord } from "../run/run-journal.ts";
import type { StoredSession } from "./session-domain.ts";
import type { Storage, Write } from "../storage/storage.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { putThreadState } from "../storage/thread-state-domain.ts";
import type { System } from "../system.ts";
import type { ToolPermission } from "../tool/tool-limits.ts";
import type { ToolLike, ToolsInput } from "../tool/tool.ts";
import { categoryOf } from "./categories.ts";
import { defaultMode } from "./check-config.ts";
import type { InlineSkill } from "../workspace/skills/skill.ts";
import type { Workspace } from "../workspace/workspace.ts";
import type {
  AgentControllerConfig,
  AgentControllerMode,
  AgentControllerSubagent,
  AgentControllerWorkspace,
} from "./config.ts";
import { decidePermission, isDenied, type PermissionGrants, type PermissionRules } from "./permission.ts";
import { fileKeeper } from "./modified-files.ts";
import { tasksProcessor } from "./tasks-processor.ts";
import { modelIn, sessionIdIn } from "./thread-settings.ts";
import {
  addTokenUsage,
  createEmptyTokenUsage,
  toTokenUsage,
  type TokenUsage,
} from "@selvedge/protocol/session";

/** Where a thread's token usage is among its states. */
export const USAGE_STATE = "usage";

const MAX_STEPS = 1000;
const SUBAGENT_STEPS = 50;

/** The ids that decide what a run is made of. Only these are stored with it. */
export interface RunIds {
  sessionId: string | undefined;
  modeId: string;
  modelId: string;
  /** The kind of subagent that the run is. */
  subagent?: string | undefined;
  /** The run is a copy of the one that started it. */
  fork?: boolean | undefined;
}

/** What a controller adds to the tools of a run. */
export interface ControllerTools {
  builtIn: ToolsInput;
  own: ToolsInput;
  workspace: ToolsInput;
  /** The workspace itself. */
  files: AgentControllerWorkspace | undefined;
  browser: MastraBrowser | undefined;
}

/** What an agent provides. A session without a workspace uses that of its agent. */
export interface AgentBelongings {
  workspace?: AgentConfig["workspace"] | undefined;
  skills?: readonly InlineSkill[] | undefined;
}

/** What a controller provides to its runs. */
export interface ProfileHost {
  readonly config: AgentControllerConfig;
  readonly storage: Storage;
  readonly system: System;
  session(id: string): Promise<StoredSession | undefined>;
  toolsFor(run: RunAddress, ids: RunIds, agent?: AgentBelongings): Promise<ControllerTools>;
  /** Puts the context of tools into the request context. */
  describe(run: RunAddress, ids: RunIds, session: StoredSession | undefined): Promise<void>;
}

/** Builds everything a run needs from its ids, in any process. */
export async function profileOf(host: ProfileHost, run: RunAddress): Promise<RunProfile> {
  const { config } = host;
  const { ids, session } = await idsOf(host, run);
  await host.describe(run, ids, session);
  const subagent = config.subagents?.find(({ id }) => id === ids.subagent);
  const made = subagent ? await ofSubagent(host, run, ids, subagent) : await ofMode(host, run, ids, session);
  return {
    config: made.config,
    options: { requireToolApproval: (call) => permissionFor(host, ids, made, call) },
    pinned: {
      ...ids,
      sessionId: ids.sessionId ?? null,
      subagent: ids.subagent ?? null,
      fork: ids.fork ?? false,
    },
    alongside: run.threadId === undefined ? undefined : alongside(host, run.threadId),
  };
}

interface Made {
  config: Partial<AgentConfig>;
  /** Tools that need no permission. */
  exempt: ReadonlySet<string>;
}

async function ofMode(
  { config, storage, toolsFor }: ProfileHost,
  run: RunAddress,
  ids: RunIds,
  session: StoredSession | undefined,
): Promise<Made> {
  const mode = modeOf(config, ids.modeId);
  const base: Partial<AgentConfig> = (mode.agent ?? config.agent)?.configuration ?? {};
  const context: DynamicContext = { requestContext: run.requestContext, runtimeContext: run.requestContext };
  const skills = base.skills && (await resolveDynamic(base.skills, context));
  const { workspace: ofAgent } = base;
  const { builtIn, own, workspace, files, ...live } = await toolsFor(run, ids, {
    workspace: ofAgent,
    skills,
  });
  const described = files && "getInstructionsAsync" in files ? (files as Workspace) : undefined;
  const browser =
    live.browser ?? (base.browser ? await resolveDynamic(base.browser, context) : described?.browser);
  const allowed = { rules: rulesOf(session), grants: grantsOf(session) };
  const isOffered = ([name, tool]: [string, ToolLike]) =>
    !isDenied(name, categoryOf(config, name, tool), allowed);
  const agentTools = mode.tools ?? {
    ...(base.tools && (await resolveDynamic(base.tools, context))),
    ...mode.additionalTools,
  };
  const tools = Object.fromEntries(
    Object.entries({
      ...builtIn,
      ...workspace,
      ...browser?.getTools(),
      ...own,
      ...agentTools,
    }).filter(isOffered),
  );
  const exempt = new Set(Object.keys(builtIn).filter((name) => tools[name] === builtIn[name]));
  const defaults = base.defaultOptions && (await resolveDynamic(base.defaultOptions, context));
  const ownProcessors = base.inputProcessors && (await resolveDynamic(base.inputProcessors, context));
  const lane: Processor[] = "task_write" in tools ? [tasksProcessor(storage)] : [];
  const { memory: _memory, workspace: _workspace, ...rest } = withoutIdentity(base);
  return {
    config: {
      ...rest,
      instructions: await instructionsOf(config, mode, base, context),
      model: modelOf(config, ids.modelId) ?? base.model!,
      tools,
      ...(described && { workspace: described }),
      ...(browser && { browser }),
      inputProcessors: [...(ownProcessors ?? []), ...lane],
      defaultOptions: {
        ...defaults,
        maxSteps: MAX_STEPS,
        ...(mode.availableTools && { activeTools: mode.availableTools }),
      },
    },
    exempt,
  };
}

/** A subagent has its own instructions and the tools it was given. Some may be the controller's. */
async function ofSubagent(
  { config, toolsFor }: ProfileHost,
  run: RunAddress,
  ids: RunIds,
  subagent: AgentControllerSubagent,
): Promise<Made> {
  const base: Partial<AgentConfig> = (modeOf(config, ids.modeId).agent ?? config.agent)?.configuration ?? {};
  const context: DynamicContext = { requestContext: run.requestContext, runtimeContext: run.requestContext };
  const { builtIn, own, workspace, browser } = await toolsFor(run, ids);
  const { subagent: _, ...pool } = { ...builtIn, ...browser?.getTools(), ...own };
  const allowed = subagent.allowedControllerTools ?? subagent.allowedAgentControllerTools ?? [];
  const pick = (tools: ToolsInput, names: readonly string[]) =>
    Object.fromEntries(Object.entries(tools).filter(([name]) => names.includes(name)));
  const tools = {
    ...pick(workspace, subagent.allowedWorkspaceTools ?? Object.keys(workspace)),
    ...pick(pool, allowed),
    ...subagent.tools,
  };
  const { maxSteps, stopWhen } = subagent;
  return {
    config: {
      instructions: await resolveDynamic(subagent.instructions, context),
      model: modelOf(config, ids.modelId) ?? base.model!,
      tools,
      defaultOptions: {
        ...((maxSteps !== undefined || !stopWhen) && { maxSteps: maxSteps ?? SUBAGENT_STEPS }),
        ...(stopWhen && { stopWhen }),
      },
    },
    exempt: new Set(Object.keys(builtIn).filter((name) => tools[name] === builtIn[name])),
  };
}

/** The ids of a run: from its own record, its session or its thread, whichever process opened it. */
export async function idsOf(
  { config, session: read, storage }: Pick<ProfileHost, "config" | "session" | "storage">,
  { threadId, pinned = {} }: Pick<RunAddress, "threadId" | "pinned">,
): Promise<{ ids: RunIds; session: StoredSession | undefined; metadata: Record<string, unknown> }> {
  const memory = await storage.getStore("memory");
  const thread = threadId === undefined ? null : await memory!.getThreadById({ threadId });
  const metadata = thread?.metadata ?? {};
  const own = text(pinned["sessionId"]);
  const sessionId = own ?? sessionIdIn(metadata);
  const found = sessionId === undefined ? undefined : await read(sessionId);
  // Clients can set metadata. The rules of another resource's session must not apply to this thread.
  const isOurs = own !== undefined || found?.defaultResourceId === thread?.resourceId;
  const session = isOurs || found?.resourceId === thread?.resourceId ? found : undefined;
  const isThere = session !== undefined && (session.threadId === threadId || threadId === undefined);
  const wanted = text(pinned["modeId"]) ?? (isThere ? session.modeId : text(metadata["currentModeId"]));
  const mode = modeOf(config, wanted);
  const modelId =
    typeof pinned["modelId"] === "string"
      ? pinned["modelId"]
      : isThere && mode.id === session.modeId
        ? session.modelId
        : modelIn(metadata, mode);
  const subagent = text(pinned["subagent"]);
  return {
    ids: { sessionId: session?.id, modeId: mode.id, modelId, subagent, fork: pinned["fork"] === true },
    session,
    metadata,
  };
}

/** The session that a run belongs to. */
export async function sessionOfRun(storage: Storage, runId: string): Promise<string | undefined> {
  const [run] = await storage.select({ table: RUNS, where: { id: runId }, limit: 1 });
  const { profile } = Object(run?.options) as { profile?: { sessionId?: string | null } };
  return profile?.sessionId ?? undefined;
}

/** Called for each tool call, with the current rules of the session. */
async function permissionFor(
  host: ProfileHost,
  { sessionId }: RunIds,
  { config: { tools }, exempt }: Made,
  { toolName, args }: { toolName: string; args: unknown },
): Promise<ToolPermission> {
  let session: StoredSession | undefined;
  try {
    session = sessionId === undefined ? undefined : await host.session(sessionId);
  } catch {
    // If the rules cannot be read they may forbid the call, so it must not ask.
    return { decision: "deny", reason: "The rules of this session could not be read. Try again later." };
  }
  const { decision, reason, byCategory } = decidePermission({
    toolName,
    args,
    category: categoryOf(host.config, toolName, (tools as ToolsInput)[toolName]),
    rules: rulesOf(session),
    grants: grantsOf(session),
    yolo: session?.state["yolo"] === true,
    exempt: exempt.has(toolName),
  });
  if (decision === "deny") return { decision, reason: `Not allowed in this session: ${reason}.` };
  return { decision, reason, ...(byCategory && { byCategory }) };
}

type Alongside = (step: StepRecord) => Promise<StepAddition>;

/** What a thread stores about each step in addition to its messages. Written only by the run that holds the thread. */
function alongside(host: ProfileHost, threadId: string): Alongside {
  const countUsage = usageCounter(host, threadId);
  const keepFiles = fileKeeper(host, threadId);
  return async (step) => {
    const [usage, { writes, chunks }] = await Promise.all([countUsage(step), keepFiles(step)]);
    return { writes: [...usage, ...writes], chunks };
  };
}

/** Adds the tokens of each step to those of its thread. */
function usageCounter(
  { storage, system }: ProfileHost,
  threadId: string,
): (step: StepRecord) => Promise<readonly Write[]> {
  let known: { usage: TokenUsage; version: number } | undefined;
  return async ({ own }) => {
    const step = toTokenUsage(own);
    if (step.totalTokens === 0) return [];
    known ??= await readUsage(storage, threadId);
    known = { usage: addTokenUsage(known.usage, step), version: known.version + 1 };
    return [putThreadState(threadId, USAGE_STATE, known.usage, known.version, system.now())];
  };
}

async function readUsage(
  storage: Storage,
  threadId: string,
): Promise<{ usage: TokenUsage; version: number }> {
  const domain = await storage.getStore("threadState");
  const state = await domain!.getState({ threadId, type: USAGE_STATE });
  return { usage: usageIn(state?.value), version: state?.version ?? 0 };
}

export function usageIn(value: JSONValue | undefined): TokenUsage {
  return value === undefined ? createEmptyTokenUsage() : toTokenUsage(value as object as TokenUsage);
}

export function modelOf(config: AgentControllerConfig, modelId: string): ModelConfig | undefined {
  if (modelId === "") return undefined;
  for (const gateway of config.gateways ?? []) {
    const model = gateway.resolveModel?.(modelId);
    if (model !== undefined) return model;
  }
  return config.resolveModel ? config.resolveModel(modelId) : modelId;
}

async function instructionsOf(
  config: AgentControllerConfig,
  mode: AgentControllerMode,
  base: Partial<AgentConfig>,
  context: DynamicContext,
): Promise<Instructions> {
  const own = base.instructions === undefined ? "" : await resolveDynamic(base.instructions, context);
  const more = [config.instructions, mode.instructions].filter(
    (words) => words !== undefined && words !== "",
  );
  if (more.length === 0) return own;
  if (typeof own === "string") return [own, ...more].filter((words) => words !== "").join("\n");
  return [...(Array.isArray(own) ? own : [own]), ...(more as string[])];
}

/** An agent's configuration without what makes it that agent. */
function withoutIdentity(base: Partial<AgentConfig>): Partial<AgentConfig> {
  const { id: _, name: __, profile: ___, system: ____, logger: _____, threads: ______, ...rest } = base;
  return rest;
}

export function modeOf(config: AgentControllerConfig, modeId: string | undefined): AgentControllerMode {
  return config.modes.find((mode) => mode.id === modeId) ?? defaultMode(config);
}

function grantsOf(session: StoredSession | undefined): PermissionGrants {
  return (session?.grants ?? { categories: [], tools: [] }) as PermissionGrants;
}

export function rulesOf(session: StoredSession | undefined): PermissionRules {
  return (session?.rules ?? { categories: {}, tools: {} }) as PermissionRules;
}

function text(value: JSONValue | unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
