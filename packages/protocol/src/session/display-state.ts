import type { AgentControllerMessage } from "./controller-message.ts";
import type { AgentControllerEvent, EventOf } from "./events.ts";
import type { ModifiedFiles } from "./modified-files.ts";
import type { TaskItemSnapshot } from "./task-item.ts";
import { createEmptyTokenUsage, type TokenUsage } from "./token-usage.ts";

export interface ActiveTool {
  name: string;
  args: unknown;
  status: "streaming_input" | "running" | "completed" | "error";
  partialResult?: string;
  result?: unknown;
  isError?: boolean;
  shellOutput?: string;
}

export type PendingApproval = Omit<EventOf<"tool_approval_required">, "type">;
export type PendingSuspension = Omit<EventOf<"tool_suspended">, "type">;

export interface ActiveSubagent {
  agentType: string;
  displayName?: string;
  task: string;
  modelId?: string;
  forked?: boolean;
  toolCalls: { name: string; isError: boolean }[];
  textDelta: string;
  status: "running" | "completed" | "error";
  durationMs?: number;
  result?: string;
}

/** How far observational memory has come. */
export interface OMProgressState {
  status: "idle" | "observing" | "reflecting";
  pendingTokens: number;
  threshold: number;
  thresholdPercent: number;
  observationTokens: number;
  reflectionThreshold: number;
  reflectionThresholdPercent: number;
  buffered: unknown;
  generationCount: number;
  stepNumber: number;
  cycleId?: string;
  startTime?: number;
  preReflectionTokens: number;
}

/** All that a page needs to show a session. */
export interface AgentControllerDisplayState {
  isRunning: boolean;
  currentMessage: AgentControllerMessage | null;
  queuedFollowUps: number;
  tokenUsage: TokenUsage;
  activeTools: Map<string, ActiveTool>;
  toolInputBuffers: Map<string, { text: string; toolName: string }>;
  /** The first of those that wait; `pendingApprovals` has all. */
  pendingApproval: PendingApproval | null;
  pendingApprovals: Map<string, PendingApproval>;
  pendingSuspensions: Map<string, PendingSuspension>;
  activeSubagents: Map<string, ActiveSubagent>;
  omProgress: OMProgressState;
  bufferingMessages: boolean;
  bufferingObservations: boolean;
  modifiedFiles: Map<string, { operations: string[]; firstModified: Date }>;
  tasks: TaskItemSnapshot[];
  /** What the run under way wrote before that. */
  previousTasks: TaskItemSnapshot[];
}

export function defaultOMProgress(): OMProgressState {
  return {
    status: "idle",
    pendingTokens: 0,
    threshold: 30_000,
    thresholdPercent: 0,
    observationTokens: 0,
    reflectionThreshold: 40_000,
    reflectionThresholdPercent: 0,
    buffered: undefined,
    generationCount: 0,
    stepNumber: 0,
    preReflectionTokens: 0,
  };
}

export function defaultDisplayState(): AgentControllerDisplayState {
  return {
    isRunning: false,
    currentMessage: null,
    queuedFollowUps: 0,
    tokenUsage: createEmptyTokenUsage(),
    activeTools: new Map(),
    toolInputBuffers: new Map(),
    pendingApproval: null,
    pendingApprovals: new Map(),
    pendingSuspensions: new Map(),
    activeSubagents: new Map(),
    omProgress: defaultOMProgress(),
    bufferingMessages: false,
    bufferingObservations: false,
    modifiedFiles: new Map(),
    tasks: [],
    previousTasks: [],
  };
}

/** What a display keeps of a thread beside its stream. */
export type DisplayFacts = Pick<AgentControllerDisplayState, "queuedFollowUps" | "tokenUsage" | "tasks"> & {
  files: ModifiedFiles;
};

const MAX_SHELL_OUTPUT = 64 << 10;

/**
 * The display of a session: what the events so far come to. An event costs the same however much there is to show; a
 * snapshot is made on request, and is not changed afterwards.
 */
export class Display {
  #now = defaultDisplayState();
  #snapshot: AgentControllerDisplayState | undefined;
  /** The list as the run under way last wrote it. */
  #tasksOfRun: TaskItemSnapshot[] | undefined;

  get(): AgentControllerDisplayState {
    return (this.#snapshot ??= copy(this.#now));
  }

  /** Another thread: nothing of the one before is left. */
  reset(facts: Partial<DisplayFacts> = {}): void {
    this.#now = defaultDisplayState();
    this.#tasksOfRun = undefined;
    this.set(facts);
  }

  set({ files, ...facts }: Partial<DisplayFacts>): void {
    Object.assign(this.#now, facts);
    if (files) {
      this.#now.modifiedFiles = new Map();
      this.#modified(files);
    }
    this.#snapshot = undefined;
  }

  take(event: AgentControllerEvent): void {
    this.#snapshot = undefined;
    const now = this.#now;
    switch (event.type) {
      case "agent_start":
        now.isRunning = true;
        now.currentMessage = null;
        now.activeTools.clear();
        now.toolInputBuffers.clear();
        now.activeSubagents.clear();
        // A run that continues may still wait for other answers. It does not ask again.
        return this.#forgetTasks();
      case "agent_end":
        return this.#end(event.reason === "suspended");
      case "message_start":
      case "message_update":
      case "message_end":
        if (event.message.role === "assistant") now.currentMessage = event.message;
        return;
      case "tool_input_start": {
        const { toolCallId, toolName } = event;
        now.toolInputBuffers.set(toolCallId, { text: "", toolName });
        now.activeTools.set(toolCallId, { name: toolName, args: undefined, status: "streaming_input" });
        return;
      }
      case "tool_input_delta": {
        const buffer = now.toolInputBuffers.get(event.toolCallId);
        if (buffer) buffer.text += event.argsTextDelta;
        return;
      }
      case "tool_input_end":
        now.toolInputBuffers.delete(event.toolCallId);
        return;
      case "tool_start":
        now.toolInputBuffers.delete(event.toolCallId);
        now.activeTools.set(event.toolCallId, { name: event.toolName, args: event.args, status: "running" });
        return;
      case "tool_update": {
        const { partialResult } = event;
        const text =
          typeof partialResult === "string" ? partialResult : (JSON.stringify(partialResult) ?? "");
        return this.#tool(event.toolCallId, () => ({ partialResult: text }));
      }
      case "shell_output":
        return this.#tool(event.toolCallId, ({ shellOutput = "" }) => ({
          shellOutput: (shellOutput + event.output).slice(-MAX_SHELL_OUTPUT),
        }));
      case "tool_end": {
        const { toolCallId, result, isError } = event;
        now.pendingSuspensions.delete(toolCallId);
        this.#setApprovals((approvals) => approvals.delete(toolCallId));
        return this.#tool(toolCallId, () => ({ status: isError ? "error" : "completed", result, isError }));
      }
      case "tool_approval_required": {
        const { type: _, ...approval } = event;
        return this.#setApprovals((approvals) => approvals.set(event.toolCallId, approval));
      }
      case "tool_suspended": {
        const { type: _, ...suspension } = event;
        now.pendingSuspensions.set(event.toolCallId, suspension);
        return;
      }
      case "tool_decided":
        now.pendingSuspensions.delete(event.toolCallId);
        return this.#setApprovals((approvals) => approvals.delete(event.toolCallId));
      case "follow_up_queued":
        now.queuedFollowUps = event.count;
        return;
      case "task_updated":
        now.previousTasks = this.#tasksOfRun ?? [];
        now.tasks = this.#tasksOfRun = event.tasks;
        return;
      default:
        return this.#takeOther(event);
    }
  }

  #modified(files: ModifiedFiles): void {
    const { modifiedFiles } = this.#now;
    for (const [path, { operations, firstModified }] of Object.entries(files))
      modifiedFiles.set(path, { operations, firstModified: new Date(firstModified) });
  }

  #takeOther(event: AgentControllerEvent): void {
    const { activeSubagents, omProgress } = this.#now;
    switch (event.type) {
      case "files_modified":
        return this.#modified(event.files);
      case "subagent_start": {
        const { type: _, toolCallId, ...about } = event;
        activeSubagents.set(toolCallId, { ...about, toolCalls: [], textDelta: "", status: "running" });
        return;
      }
      case "subagent_text_delta":
        return this.#subagent(event.toolCallId, ({ textDelta }) => ({
          textDelta: textDelta + event.textDelta,
        }));
      case "subagent_tool_end":
        return this.#subagent(event.toolCallId, ({ toolCalls }) => ({
          toolCalls: [...toolCalls, { name: event.subToolName, isError: event.isError }],
        }));
      case "subagent_end":
        return this.#subagent(event.toolCallId, () => ({
          status: event.isError ? "error" : "completed",
          durationMs: event.durationMs,
          result: event.result,
        }));
      case "om_observation_start":
      case "om_reflection_start":
        omProgress.status = event.type === "om_observation_start" ? "observing" : "reflecting";
        return;
      case "om_observation_end":
      case "om_observation_failed":
      case "om_reflection_end":
      case "om_reflection_failed":
        omProgress.status = "idle";
        return;
      case "om_buffering_start":
      case "om_buffering_end":
      case "om_buffering_failed": {
        const isOn = event.type === "om_buffering_start";
        if (event["operationType"] === "reflection") this.#now.bufferingObservations = isOn;
        else this.#now.bufferingMessages = isOn;
        return;
      }
      case "om_status":
        return this.#status(event);
    }
  }

  #status(event: EventOf<"om_status">): void {
    const { omProgress } = this.#now;
    const { active } = Object(event["windows"]) as {
      active?: Record<"messages" | "observations", { tokens: number; threshold: number } | undefined>;
    };
    const percent = (tokens: number, threshold: number) => (threshold > 0 ? (tokens / threshold) * 100 : 0);
    const { tokens = 0, threshold = omProgress.threshold } = active?.messages ?? {};
    const { tokens: observed = 0, threshold: limit = omProgress.reflectionThreshold } =
      active?.observations ?? {};
    Object.assign(omProgress, {
      pendingTokens: tokens,
      threshold,
      thresholdPercent: percent(tokens, threshold),
      observationTokens: observed,
      reflectionThreshold: limit,
      reflectionThresholdPercent: percent(observed, limit),
      generationCount: Number(event["generationCount"] ?? omProgress.generationCount),
      stepNumber: Number(event["stepNumber"] ?? omProgress.stepNumber),
    });
  }

  /** What is over is in the history; of a run that waits everything stays. */
  #end(isSuspended: boolean): void {
    const now = this.#now;
    now.isRunning = false;
    if (isSuspended) return;
    now.currentMessage = null;
    now.activeTools.clear();
    now.toolInputBuffers.clear();
    now.activeSubagents.clear();
    now.pendingSuspensions.clear();
    this.#forgetTasks();
    this.#setApprovals((approvals) => approvals.clear());
  }

  #forgetTasks(): void {
    this.#tasksOfRun = undefined;
    this.#now.previousTasks = [];
  }

  #setApprovals(change: (approvals: Map<string, PendingApproval>) => unknown): void {
    const { pendingApprovals } = this.#now;
    change(pendingApprovals);
    this.#now.pendingApproval = pendingApprovals.values().next().value ?? null;
  }

  #tool(id: string, change: (tool: ActiveTool) => Partial<ActiveTool>): void {
    const tool = this.#now.activeTools.get(id);
    if (tool) this.#now.activeTools.set(id, { ...tool, ...change(tool) });
  }

  #subagent(id: string, change: (subagent: ActiveSubagent) => Partial<ActiveSubagent>): void {
    const subagent = this.#now.activeSubagents.get(id);
    if (subagent) this.#now.activeSubagents.set(id, { ...subagent, ...change(subagent) });
  }
}

function copy(state: AgentControllerDisplayState): AgentControllerDisplayState {
  return {
    ...state,
    activeTools: new Map(state.activeTools),
    toolInputBuffers: new Map(Array.from(state.toolInputBuffers, ([id, buffer]) => [id, { ...buffer }])),
    pendingApprovals: new Map(state.pendingApprovals),
    pendingSuspensions: new Map(state.pendingSuspensions),
    activeSubagents: new Map(state.activeSubagents),
    modifiedFiles: new Map(state.modifiedFiles),
    omProgress: { ...state.omProgress },
    tasks: [...state.tasks],
    previousTasks: [...state.previousTasks],
  };
}
