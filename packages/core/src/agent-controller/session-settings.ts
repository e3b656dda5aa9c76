import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { describeThread } from "../storage/message-writes.ts";
import type { SessionPatch, StoredSession } from "./session-domain.ts";
import type { Write } from "../storage/storage.ts";
import { known } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerConfig, AgentControllerMode } from "./config.ts";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import {
  checkCategory,
  checkPolicy,
  checkRule,
  type PermissionGrants,
  type PermissionPolicy,
  type PermissionRules,
  type ToolCategory,
} from "./permission.ts";
import { quietly } from "./quietly.ts";
import { modelOf, rulesOf } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import { modeModelKey, modelIn, settingsOf } from "./thread-settings.ts";

type Metadata = Record<string, unknown>;

/** The mode of a session. */
export class SessionMode {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get(): string {
    return this.#core.row.modeId;
  }

  resolve(): AgentControllerMode {
    return requireMode(this.#core.host.config, this.get());
  }

  /** From the next run on. The run under way keeps its mode. */
  async switch(options: { modeId: string }): Promise<void> {
    const mode = requireMode(this.#core.host.config, checkOptions("mode.switch", options).modeId);
    await this.#core.ready();
    await this.#core.change(async (row) => {
      if (row.modeId === mode.id) return undefined;
      return modeChange(this.#core, row, mode);
    });
  }
}

/** Everything that changes when a session comes into a mode: the row, and what its thread says about it. */
export async function modeChange(
  core: SessionCore,
  row: StoredSession,
  mode: AgentControllerMode,
): Promise<{ patch: SessionPatch; also: Write[] }> {
  const { threadId } = row;
  const memory = await core.host.memory();
  const thread = threadId === undefined ? null : await memory.getThreadById({ threadId });
  const modelId = modelIn(thread?.metadata ?? {}, mode) || row.modelId;
  const patch = { modeId: mode.id, modelId };
  const left = row.modelId === "" ? {} : { [modeModelKey(row.modeId)]: row.modelId };
  return {
    patch,
    also:
      threadId === undefined
        ? []
        : describeThread(threadId, { metadata: { ...left, ...settingsOf({ ...row, ...patch }) } }),
  };
}

/** The model of a session. */
export class SessionModel {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  /** The id of the model; empty where none was chosen. */
  get(): string {
    return this.#core.row.modelId;
  }

  displayName(): string {
    return this.get().split("/").at(-1) || "unknown";
  }

  hasSelection(): boolean {
    return this.get() !== "";
  }

  /** From the next run on. For another mode it is remembered until the session comes into that mode. */
  async switch(options: { modelId: string; scope?: "thread" | "global"; modeId?: string }): Promise<void> {
    const { config, logger } = this.#core.host;
    const modelId = checkId("modelId", options?.modelId);
    const { scope = "thread" } = options;
    if (scope !== "thread" && scope !== "global")
      throw new AgentError(
        "invalid-argument",
        `scope must be "thread" or "global", got ${showValue(scope)}.`,
      );
    const mode = options.modeId === undefined ? undefined : requireMode(config, options.modeId);
    await this.#core.ready();
    if (mode && mode.id !== this.#core.row.modeId) {
      await changeThread(this.#core, { [modeModelKey(mode.id)]: modelId });
      this.#core.bus.emit({ type: "model_changed", modelId, scope, modeId: mode.id });
    } else {
      if (scope === "global") this.#core.willSelect(modelId);
      await this.#core
        .change(async (row) => ({
          patch: { modelId },
          also:
            row.threadId === undefined || scope === "global"
              ? []
              : describeThread(row.threadId, { metadata: settingsOf({ ...row, modelId }) }),
        }))
        .finally(() => this.#core.willSelect(undefined));
    }
    try {
      config.modelUseCountTracker?.(modelId);
    } catch (error) {
      logger.debug("modelUseCountTracker failed", error);
    }
  }
}

/** What tools may do in a session. */
export class SessionPermissions {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  getRules(): PermissionRules {
    return structuredClone(rulesOf(this.#core.row));
  }

  setForCategory(options: { category: ToolCategory; policy: PermissionPolicy }): Promise<void> {
    return this.#change((rules) => {
      const category = checkCategory(options?.category);
      return { ...rules, categories: { ...rules.categories, [category]: checkPolicy(options.policy) } };
    });
  }

  /** `toolName` may name arguments, too: `execute_command(git status*)`. */
  setForTool(options: { toolName: string; policy: PermissionPolicy }): Promise<void> {
    return this.#change((rules) => {
      const toolName = checkRule(options?.toolName);
      const policy = checkPolicy(options.policy);
      return { ...rules, tools: { ...rules.tools, [toolName]: policy } };
    });
  }

  getGrants(): PermissionGrants {
    return structuredClone(this.#core.row.grants) as PermissionGrants;
  }

  grant(what: Partial<PermissionGrants>): Promise<void> {
    return this.#changeRow(async (row) => ({ patch: { grants: withGrants(row.grants, what) } }));
  }

  revoke(what: Partial<PermissionGrants>): Promise<void> {
    return this.#changeRow(async ({ grants }) => ({
      patch: {
        grants: {
          categories: grants.categories.filter((one) => !what.categories?.includes(one as ToolCategory)),
          tools: grants.tools.filter((one) => !what.tools?.includes(one)),
        },
      },
    }));
  }

  #change(change: (rules: PermissionRules) => PermissionRules): Promise<void> {
    return this.#changeRow(async (row) => ({
      patch: { rules: change(rulesOf(row)) as StoredSession["rules"] },
    }));
  }

  #changeRow(change: (row: StoredSession) => Promise<{ patch: SessionPatch }>): Promise<void> {
    return quietly(this.#core, async () => void (await this.#core.change(change)));
  }
}

export function withGrants(
  grants: StoredSession["grants"],
  { categories = [], tools = [] }: Partial<PermissionGrants>,
): StoredSession["grants"] {
  return {
    categories: [...new Set([...grants.categories, ...categories.map(checkCategory)])],
    tools: [...new Set([...grants.tools, ...tools.map((name) => checkId("toolName", name))])],
  };
}

/** The state of a session: JSON, checked as a whole, and the same in every process. */
export class SessionState<Shape extends object> {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get(): Shape {
    return { ...this.#core.row.state } as Shape;
  }

  async set(updates: Partial<Shape>): Promise<void> {
    await this.#core.change(async ({ state }) => ({
      patch: { state: await this.#core.host.stateRules.changed(state, updates) },
    }));
  }

  /** Changes the state on top of what others did: `change` may be called more than once. */
  async update<Result = void>(
    change: (state: Shape) => { updates?: Partial<Shape>; events?: AgentControllerEvent[]; result?: Result },
  ): Promise<Result> {
    if (typeof change !== "function")
      throw new AgentError(
        "invalid-argument",
        `state.update needs a function of the state, got ${showValue(change)}.`,
      );
    let answer: ReturnType<typeof change> | undefined;
    await this.#core.change(async ({ state }) => {
      answer = change({ ...state } as Shape);
      if (!answer?.updates) return undefined;
      return { patch: { state: await this.#core.host.stateRules.changed(state, answer.updates) } };
    });
    for (const event of answer?.events ?? []) this.#core.bus.emit(event);
    return answer?.result as Result;
  }
}

/** The models and limits of observational memory: of the thread, else of the controller. */
export class SessionOM {
  readonly observer: OMRole;
  readonly reflector: OMRole;

  constructor(core: SessionCore) {
    this.observer = new OMRole(core, "observer");
    this.reflector = new OMRole(core, "reflector");
  }
}

class OMRole {
  readonly #core: SessionCore;
  readonly #role: "observer" | "reflector";

  constructor(core: SessionCore, role: "observer" | "reflector") {
    this.#core = core;
    this.#role = role;
  }

  modelId(): string | null {
    const { omConfig } = this.#core.host.config;
    const own = settingOf(this.#core.row, `${this.#role}ModelId`);
    if (typeof own === "string") return own;
    return (
      (this.#role === "observer" ? omConfig?.defaultObserverModelId : omConfig?.defaultReflectorModelId) ??
      null
    );
  }

  threshold(): number | null {
    const { omConfig } = this.#core.host.config;
    const isObserver = this.#role === "observer";
    const own = settingOf(this.#core.row, isObserver ? "observationThreshold" : "reflectionThreshold");
    if (typeof own === "number") return own;
    return (
      (isObserver ? omConfig?.defaultObservationThreshold : omConfig?.defaultReflectionThreshold) ?? null
    );
  }

  resolvedModel(): ReturnType<typeof modelOf> {
    return modelOf(this.#core.host.config, this.modelId() ?? "");
  }

  async switchModel(options: { modelId: string }): Promise<void> {
    const { modelId } = checkOptions("switchModel", options);
    await changeSetting(this.#core, `${this.#role}ModelId`, checkId("modelId", modelId));
    this.#core.bus.emit({ type: "om_model_changed", role: this.#role, modelId });
  }
}

/** The models of subagents: for a kind of them, or for all. */
export class SubagentModels {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get({ agentType }: { agentType?: string } = {}): string | null {
    return subagentModel(this.#core.row, agentType);
  }

  async set(options: { modelId: string; agentType?: string }): Promise<void> {
    const { modelId, agentType } = checkOptions("subagents.model.set", options);
    const key =
      agentType === undefined ? "subagentModelId" : `subagentModelId_${checkId("agentType", agentType)}`;
    await changeSetting(this.#core, key, checkId("modelId", modelId));
    const which = agentType === undefined ? {} : { agentType };
    this.#core.bus.emit({ type: "subagent_model_changed", modelId, scope: "thread", ...which });
  }
}

/** The model that was set for a kind of subagent, or for all. */
export function subagentModel(row: StoredSession, agentType: string | undefined): string | null {
  const own = agentType === undefined ? undefined : settingOf(row, `subagentModelId_${agentType}`);
  const value = own ?? settingOf(row, "subagentModelId");
  return typeof value === "string" ? value : null;
}

/** A setting of the session; apps may also keep it in their state. */
function settingOf({ settings, state }: StoredSession, key: string): unknown {
  return Object.hasOwn(settings, key) ? settings[key] : Object.hasOwn(state, key) ? state[key] : undefined;
}

async function changeSetting(core: SessionCore, key: string, value: unknown): Promise<void> {
  await core.change(async ({ settings, threadId }) => ({
    patch: { settings: { ...settings, [key]: value } },
    also: threadId === undefined ? [] : describeThread(threadId, { metadata: { [key]: value } }),
  }));
}

function requireMode(config: AgentControllerConfig, modeId: string): AgentControllerMode {
  const mode = config.modes.find(({ id }) => id === modeId);
  if (mode) return mode;
  throw new AgentError(
    "not-found",
    `There is no mode ${showValue(modeId)}. ${known(config.modes.map(({ id }) => id))}`,
  );
}

async function changeThread(core: SessionCore, metadata: Metadata): Promise<void> {
  await core.ready();
  const { threadId } = core;
  if (threadId !== undefined) await core.host.storage.commit(describeThread(threadId, { metadata }));
}
