import type { RunAddress, RunProfile } from "../agent/agent-config.ts";
import { resolveDynamic } from "../agent/dynamic.ts";
import { emptyWorkspace } from "../agent/resolve-run.ts";
import type { MastraBrowser } from "../browser/mastra-browser.ts";
import { AgentError } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { currentRun } from "../run/current-run.ts";
import type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
import type { Tool } from "../tool/tool.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import type { ControllerHost } from "./controller-host.ts";
import { type AgentControllerRequestContext, CONTROLLER_KEY, emitOnStream } from "./request-context.ts";
import { type AgentBelongings, type ControllerTools, profileOf, type RunIds } from "./run-profile.ts";
import type { StoredSession } from "./session-domain.ts";
import { SessionRecord } from "./session-record.ts";
import { subagentModel } from "./subagent-models.ts";
import { allowedPathsIn } from "./access-grants.ts";
import { builtInTools, withoutEffect } from "./tools/built-in-tools.ts";
import { createSubagentTool } from "./tools/subagent-tool.ts";
import type { Workspaces } from "./workspaces.ts";

/** A session that is open in this process. */
interface LiveSession {
  readonly core: { readonly row: StoredSession };
  readonly browser: object | undefined;
  getWorkspace(): AgentControllerWorkspace | undefined;
}

interface LiveSessions {
  /** Whether it is the process's own session. */
  readonly own: LiveSession;
  find(rowId: string): Promise<LiveSession | undefined>;
}

/** Provides the runs of a controller with tools, and tools with their context. */
export class ControllerRuns {
  readonly #host: ControllerHost;
  readonly #sessions: LiveSessions;
  readonly #workspaces: Workspaces;
  #subagent: Tool | undefined;

  constructor(host: ControllerHost, sessions: LiveSessions, workspaces: Workspaces) {
    this.#host = host;
    this.#sessions = sessions;
    this.#workspaces = workspaces;
  }

  profile(run: RunAddress): Promise<RunProfile> {
    const { config, storage, system, rows } = this.#host;
    // A run without a thread belongs to the process that makes it, and so to its own session.
    const isOurs = run.threadId === undefined && !run.pinned;
    const pinned = { sessionId: this.#sessions.own.core.row.id };
    return profileOf(
      {
        config,
        storage,
        system,
        session: async (id) => (await rows.find(id)) ?? undefined,
        toolsFor: (address, ids, agent) => this.#toolsFor(address, ids, agent),
        describe: (address, ids, session) => this.#describe(address, ids, session),
      },
      isOurs ? { ...run, pinned } : run,
    );
  }

  async #toolsFor(
    { requestContext }: RunAddress,
    { fork }: RunIds,
    { workspace: ofAgent, skills: agentSkills = [] }: AgentBelongings = {},
  ): Promise<ControllerTools> {
    const { config, mastra, system } = this.#host;
    const dynamic = { requestContext, runtimeContext: requestContext, mastra };
    const context = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
    const files: AgentControllerWorkspace | undefined =
      context.workspace ??
      (ofAgent && (await resolveDynamic(ofAgent, dynamic))) ??
      (agentSkills.length > 0 ? await emptyWorkspace(system) : undefined);
    files?.useStorage?.(this.#host.storage);
    const allowedPaths = allowedPathsIn(context.state);
    const offered = files ? await files.tools({ requestContext, allowedPaths, agentSkills }) : {};
    // The tool itself asks a person, so it needs no permission.
    const { request_access: ask, ...workspace } = offered;
    const own = config.tools && (await resolveDynamic(config.tools, dynamic));
    const subagent = this.#subagentTool();
    const stub = fork && subagent ? withoutEffect(subagent) : subagent;
    const builtIn = { ...builtInTools(config, stub), ...(ask && { request_access: ask }) };
    const browser = context.browser && "getTools" in context.browser ? context.browser : undefined;
    return { builtIn, own: { ...own }, workspace, files, browser: browser as MastraBrowser | undefined };
  }

  #subagentTool(): Tool | undefined {
    const { config, agent, storage, system, hasMemory } = this.#host;
    const { subagents = [] } = config;
    if (subagents.length === 0) return undefined;
    this.#subagent ??= createSubagentTool({
      subagents,
      agent,
      storage,
      system,
      defaultModel: ({ defaultModelId = "" }) => defaultModelId,
      clone: hasMemory ? (options) => this.#clone(options) : undefined,
    }) as Tool;
    return this.#subagent;
  }

  async #clone(options: CloneThreadOptions): Promise<CloneThreadResult> {
    const memory = await this.#host.memoryOf(this.#sessions.own.core.row.modeId);
    if (memory?.cloneThread) return memory.cloneThread(options);
    throw new AgentError("memory-required", "A fork needs a memory that can copy threads.");
  }

  async #describe(
    { requestContext, threadId, resourceId }: RunAddress,
    { sessionId, modeId, modelId }: RunIds,
    session: StoredSession | undefined,
  ): Promise<void> {
    const { config, stateRules, storage, system } = this.#host;
    const open = sessionId === undefined ? undefined : await this.#sessions.find(sessionId);
    const workspace =
      sessionId === undefined ? undefined : await this.#workspaceOf(sessionId, open, requestContext);
    const record = session && (await this.#record(session));
    const change = async (
      updates: (state: Record<string, unknown>) => Record<string, unknown>,
    ): Promise<void> => {
      await record?.change(
        async ({ state }) => ({ patch: { state: await stateRules.changed(state, updates(state)) } }),
        (writes) => storage.commit(writes, { key: session!.id, id: system.newId() }),
      );
    };
    const context: AgentControllerRequestContext = {
      controllerId: config.id,
      state: session?.state ?? stateRules.initial,
      getState: () => ({ ...((open?.core.row ?? record?.current)?.state ?? stateRules.initial) }),
      setState: (updates) => change(() => updates),
      updateState: (updates) => change(updates),
      threadId,
      resourceId,
      session: session && { id: session.id, ownerId: session.ownerId, modeId, modelId, state: session.state },
      get abortSignal() {
        return currentRun()?.controller.signal;
      },
      workspace,
      browser: open?.browser ?? (typeof config.browser === "function" ? undefined : config.browser),
      emitEvent: emitOnStream,
      getSubagentModelId: ({ agentType } = {}) => (record ? subagentModel(record.current, agentType) : null),
    };
    requestContext.set(CONTROLLER_KEY, context);
  }

  /** If a workspace fails to start, the run continues without it. */
  async #workspaceOf(
    sessionId: string,
    open: LiveSession | undefined,
    requestContext: RequestContext,
  ): Promise<AgentControllerWorkspace | undefined> {
    try {
      const workspace = open?.getWorkspace() ?? (await this.#workspaces.of(sessionId, requestContext));
      if (workspace) await this.#workspaces.init(workspace);
      return workspace;
    } catch (error) {
      this.#host.logger.warn(`Session "${sessionId}" has no workspace: it could not be started`, error);
      return undefined;
    }
  }

  /** The row of a session that may not be open here. It is read again if it has changed. */
  async #record(session: StoredSession): Promise<SessionRecord> {
    const { storage, rows } = this.#host;
    const record = new SessionRecord(storage, await rows.domain(), session);
    record.close();
    return record;
  }
}
