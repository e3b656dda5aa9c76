import {
  type AgentChunk,
  foldWorkflow,
  type WorkflowChunk,
  type WorkflowProgress,
  type WorkflowRunStatus,
  type WorkflowStepStatus,
  type WorkflowUsage,
} from "@selvedge/protocol";
import { UiChunks, type UiChunk } from "./ui-chunks.ts";

/** A step in a `data-workflow` part. */
export interface WorkflowStepPart {
  name: string;
  status: WorkflowStepStatus;
  input: unknown;
  output: unknown;
  suspendPayload: unknown;
  resumePayload: unknown;
}

/** The `data` of a `data-workflow` part: the run as it is now. Each part replaces the one before it. */
export interface WorkflowPart {
  name: string;
  status: WorkflowRunStatus;
  steps: Record<string, WorkflowStepPart>;
  output: { usage: WorkflowUsage } | null;
}

/** Parts that belong to an agent's own message. */
const OF_MESSAGE: ReadonlySet<string> = new Set(["start", "finish", "abort", "error", "steering-message"]);

/**
 * Converts the events of a workflow run to the AI SDK's UI message stream: the run as a `data-workflow` part, the text
 * of agents that steps piped to their writer, and the `data-*` events of steps.
 */
export class WorkflowUi {
  readonly #run: WorkflowProgress;
  readonly #name: string;
  readonly #agents = new Map<string, UiChunks>();
  /** Texts that a step writes without an agent's chunks around them. */
  readonly #texts = new Set<string>();
  #usage: WorkflowUsage | undefined;

  /** `run`: what is known of an earlier execution. */
  constructor(name: string, run: WorkflowProgress = { status: "pending", steps: {}, progress: {} }) {
    this.#name = name;
    this.#run = run;
  }

  /** Parts to send now. `true` means that the run changed: send `part` soon. */
  take(chunk: WorkflowChunk): { parts: UiChunk[]; changed: boolean } {
    if (chunk.type === "workflow-step-output") return { parts: this.#output(chunk.payload), changed: false };
    if (isData(chunk)) {
      const { type, data, id, transient } = chunk;
      const named = { ...(id !== undefined && { id }), ...(transient && { transient }) };
      return { parts: [{ type, data: data ?? null, ...named }], changed: false };
    }
    foldWorkflow(this.#run, chunk);
    if (chunk.type === "workflow-finish") this.#usage = chunk.payload.output.usage;
    const ended = chunk.type === "workflow-step-result" ? this.#close(chunk.payload.stepCallId) : [];
    return { parts: ended, changed: true };
  }

  /** The run as it is now. */
  part(runId: string): UiChunk {
    const steps = Object.entries(this.#run.steps).map(([id, step]) => {
      const { status, payload, suspendPayload, resumePayload } = step;
      const { output } = step as { output?: unknown };
      return [id, { name: id, status, input: payload, output, suspendPayload, resumePayload }] as const;
    });
    const data: WorkflowPart = {
      name: this.#name,
      status: this.#run.status,
      steps: Object.fromEntries(steps),
      output: this.#usage ? { usage: this.#usage } : null,
    };
    return { type: "data-workflow", id: runId, data };
  }

  #output({ output, stepCallId }: { output: unknown; stepCallId: string }): UiChunk[] {
    if (typeof output === "string") return this.#text(stepCallId, output);
    if (!isAgentChunk(output)) return [];
    let agent = this.#agents.get(stepCallId);
    if (!agent) this.#agents.set(stepCallId, (agent = new UiChunks()));
    // Agents of parallel steps may use the same ids.
    return agent
      .from(output)
      .filter(({ type }) => !OF_MESSAGE.has(type))
      .map((part) => (isBlock(part) ? { ...part, id: `${stepCallId}:${String(part["id"])}` } : part));
  }

  #text(id: string, delta: string): UiChunk[] {
    const opening = this.#texts.has(id) ? [] : [{ type: "text-start", id }];
    this.#texts.add(id);
    return [...opening, { type: "text-delta", id, delta }];
  }

  #close(id: string): UiChunk[] {
    this.#agents.delete(id);
    return this.#texts.delete(id) ? [{ type: "text-end", id }] : [];
  }
}

function isData(chunk: WorkflowChunk): chunk is Extract<WorkflowChunk, { data: unknown }> {
  return chunk.type.startsWith("data-");
}

/** Steps write anything; the chunks of agents have these fields. */
function isAgentChunk(value: unknown): value is AgentChunk {
  const { type, runId, from } = Object(value) as { type?: unknown; runId?: unknown; from?: unknown };
  return typeof type === "string" && typeof runId === "string" && from === "AGENT";
}

function isBlock({ type }: UiChunk): boolean {
  return type.startsWith("text-") || type.startsWith("reasoning-");
}
