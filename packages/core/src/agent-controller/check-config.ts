import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import type {
  AgentControllerConfig,
  AgentControllerMode,
  AgentControllerSubagent,
  BuiltinToolId,
} from "./config.ts";
import { OM_KEYS } from "./om-keys.ts";
import { checkCategory, checkPolicy, checkRule } from "./permission.ts";
import type { StoredSession } from "./session-domain.ts";

const BUILTIN_TOOL_IDS: readonly BuiltinToolId[] = [
  "ask_user",
  "submit_plan",
  "task_write",
  "task_update",
  "task_complete",
  "task_check",
  "subagent",
];

export function isBuiltIn(toolName: string): boolean {
  return (BUILTIN_TOOL_IDS as readonly string[]).includes(toolName);
}

/** Functions of the configuration, by name. */
const FUNCTIONS = [
  "resolveModel",
  "idGenerator",
  "modelAuthChecker",
  "modelUseCountProvider",
  "modelUseCountTracker",
  "customModelCatalogProvider",
  "toolCategoryResolver",
] as const;

/** Rejects a configuration that would fail only later, with the first message. */
export function checkConfig(config: AgentControllerConfig): void {
  if (typeof config !== "object" || config === null)
    throw bad(`new AgentController() expects { id, modes, … }, got ${showValue(config)}.`);
  checkId("id", config.id);
  if (config.resourceId !== undefined) checkId("resourceId", config.resourceId);
  if (!Array.isArray(config.modes) || config.modes.length === 0)
    throw bad(`AgentController "${config.id}" needs at least one mode, got ${showValue(config.modes)}.`);
  const ids = new Set<string>();
  for (const mode of config.modes) {
    const id = checkId("mode.id", mode?.id);
    if (ids.has(id)) throw bad(`Two modes have the id "${id}". Give each its own.`);
    ids.add(id);
  }
  for (const mode of config.modes) checkMode(mode, ids, config);
  if (config.defaultModeId !== undefined && !ids.has(config.defaultModeId))
    throw bad(`defaultModeId ${showValue(config.defaultModeId)} is not a mode. ${known(ids)}`);
  for (const name of FUNCTIONS) {
    const value: unknown = config[name];
    if (value !== undefined && typeof value !== "function")
      throw bad(`${name} must be a function, got ${showValue(value)}.`);
  }
  for (const id of config.disableBuiltinTools ?? [])
    if (!BUILTIN_TOOL_IDS.includes(id))
      throw bad(`disableBuiltinTools has ${showValue(id)}. Built-in tools: ${BUILTIN_TOOL_IDS.join(", ")}.`);
  checkSubagents(config.subagents);
  checkOm(config.omConfig);
  initialRules(config);
  const { threadLock: lock } = config;
  if (lock !== undefined && (typeof lock?.acquire !== "function" || typeof lock.release !== "function"))
    throw bad(`threadLock must be { acquire(threadId), release(threadId) }, got ${showValue(lock)}.`);
}

function checkMode(mode: AgentControllerMode, ids: ReadonlySet<string>, config: AgentControllerConfig): void {
  const { id, transitionsTo, tools, additionalTools, availableTools } = mode;
  if (transitionsTo === id)
    throw bad(`Mode "${id}" has itself as transitionsTo. Name another mode, or none.`);
  if (transitionsTo !== undefined && !ids.has(transitionsTo))
    throw bad(`transitionsTo ${showValue(transitionsTo)} of mode "${id}" is not a mode. ${known(ids)}`);
  if (tools !== undefined && additionalTools !== undefined)
    throw bad(
      `Mode "${id}" has both tools, which replace the agent's, and additionalTools, which add to them. Give one.`,
    );
  if (availableTools !== undefined && !isTexts(availableTools))
    throw bad(
      `availableTools of mode "${id}" must be a list of tool names, got ${showValue(availableTools)}.`,
    );
  if (!mode.agent && !config.agent && !mode.defaultModelId)
    throw bad(
      `Mode "${id}" has no agent and no model. Pass agent to the controller, or defaultModelId to the mode.`,
    );
}

function checkSubagents(subagents: readonly AgentControllerSubagent[] | undefined): void {
  if (subagents === undefined) return;
  if (!Array.isArray(subagents)) throw bad(`subagents must be a list, got ${showValue(subagents)}.`);
  const ids = new Set<string>();
  for (const subagent of subagents as readonly AgentControllerSubagent[]) {
    const id = checkId("subagent.id", subagent?.id);
    if (ids.has(id)) throw bad(`Two subagents have the id "${id}". Give each its own.`);
    ids.add(id);
    if (typeof subagent.description !== "string" || subagent.description === "")
      throw bad(`Subagent "${id}" needs a description: the model chooses by it.`);
    const { allowedAgentControllerTools: older, allowedControllerTools: newer } = subagent;
    if (older && newer && JSON.stringify(older) !== JSON.stringify(newer))
      throw bad(
        `Subagent "${id}" has allowedAgentControllerTools and allowedControllerTools, which are two names of one option, with different lists. Give one.`,
      );
  }
}

function checkOm(omConfig: AgentControllerConfig["omConfig"] = {}): void {
  for (const { defaultModel, defaultThreshold } of Object.values(OM_KEYS)) {
    const model: unknown = omConfig[defaultModel];
    const threshold: unknown = omConfig[defaultThreshold];
    if (model !== undefined) checkId(`omConfig.${defaultModel}`, model);
    if (threshold !== undefined && !(Number.isSafeInteger(threshold) && Number(threshold) > 0))
      throw bad(
        `omConfig.${defaultThreshold} must be a positive whole number of tokens, got ${showValue(threshold)}.`,
      );
  }
}

/** The rules a session begins with. */
export function initialRules({ permissionRules = {} }: AgentControllerConfig): StoredSession["rules"] {
  const { categories = {}, tools = {} } = permissionRules;
  for (const category of Object.keys(categories)) checkCategory(category);
  for (const rule of Object.keys(tools)) checkRule(rule);
  for (const policy of [...Object.values(categories), ...Object.values(tools)]) checkPolicy(policy);
  return { categories: { ...categories }, tools: { ...tools } };
}

/** The mode a session begins in. */
export function defaultMode({ modes, defaultModeId }: AgentControllerConfig): AgentControllerMode {
  const marked =
    modes.find((mode) => mode.metadata?.["default"] === true) ?? modes.find((mode) => mode.default);
  return modes.find((mode) => mode.id === defaultModeId) ?? marked ?? modes[0]!;
}

/** The mode that an approved plan leads to. */
export function modeAfterPlan(config: AgentControllerConfig, modeId: string): AgentControllerMode {
  const { transitionsTo } = config.modes.find((mode) => mode.id === modeId) ?? {};
  return config.modes.find((mode) => mode.id === transitionsTo) ?? defaultMode(config);
}

export function known(ids: Iterable<string>): string {
  return `Modes: ${[...ids].join(", ")}.`;
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((name) => typeof name === "string");
}

function bad(message: string): AgentError {
  return new AgentError("invalid-argument", message);
}
