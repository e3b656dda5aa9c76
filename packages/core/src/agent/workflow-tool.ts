import { createHash } from "node:crypto";
import { isObject } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import { RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { JsonSchema, Schema } from "../schema/schema.ts";
import { createTool, type Tool, type ToolExecutionOptions } from "../tool/tool.ts";
import type { WorkflowResult } from "../workflow/workflow-result.ts";
import type { Workflow } from "../workflow/workflow.ts";

/** The names of tools made from workflows begin with this. */
export const WORKFLOW_TOOL = "workflow-";

interface WorkflowInput {
  inputData?: unknown;
  initialState?: Record<string, unknown>;
}

/** What the model gets of a workflow that is over. */
type WorkflowToolOutput = { runId: string } & ({ result: unknown } | { error: string });

/** Where a suspended workflow waits. Part of what the call's readers see. */
interface WorkflowMeta {
  runId: string;
  /** The step that waits, as `resume({ step })` takes it. */
  path: string[];
  /** The number of the last event before: an answer counts only while nothing has happened since. */
  after: number;
  /** Why the last answer was refused. */
  error?: string;
}

/**
 * A workflow as a tool of an agent. The id of its run comes from the call: after a crash the call finds its run and
 * keeps waiting. A workflow that suspends suspends the call, and the answer to the call resumes it.
 */
export function workflowTool(key: string, workflow: Workflow): Tool<JsonSchema, undefined> {
  return createTool({
    id: `${WORKFLOW_TOOL}${key}`,
    description: workflow.description || `Workflow: ${workflow.id}`,
    inputSchema: inputSchemaOf(workflow),
    // Without a store, its run dies with the process, and running it again would repeat its steps.
    ...(workflow.host?.getStorage() && { idempotent: true }),
    // It may sleep for days.
    timeoutMs: 0,
    execute: async ({ context }, options) =>
      new WorkflowCall(workflow, context as WorkflowInput, options).carryOut(),
  });
}

function inputSchemaOf({ inputSchema, stateSchema }: Workflow): JsonSchema {
  const state = stateSchema && { initialState: compileSchema(stateSchema).jsonSchema };
  return {
    type: "object",
    properties: { inputData: compileSchema(inputSchema).jsonSchema, ...state },
    required: ["inputData"],
  };
}

/** The agent's thread is not the workflow's. */
const THREAD_KEYS = [THREAD_ID_KEY, RESOURCE_ID_KEY];

/** One call of a workflow. */
class WorkflowCall {
  readonly #workflow: Workflow;
  readonly #input: WorkflowInput;
  readonly #options: ToolExecutionOptions;
  readonly #runId: string;

  constructor(workflow: Workflow, input: WorkflowInput, options: ToolExecutionOptions) {
    this.#workflow = workflow;
    this.#input = input;
    this.#options = options;
    this.#runId = runIdOf(`${options.runId}-${options.toolCallId}`);
  }

  /** Returns nothing if the workflow suspends: then the call waits, too. */
  async carryOut(): Promise<WorkflowToolOutput | void> {
    const { resourceId, abortSignal } = this.#options;
    const run = await this.#workflow.createRun({
      runId: this.#runId,
      ...(resourceId !== undefined && { resourceId }),
    });
    const known = await this.#workflow.getWorkflowRunById(this.#runId, { fields: [] });
    // The ids in the call are chosen by others.
    if (known && known.resourceId !== resourceId)
      throw new AgentError("conflict", `The id "${this.#runId}" belongs to another workflow run.`);
    const cancel = (): void => void run.cancel().catch(() => {});
    abortSignal.addEventListener("abort", cancel, { once: true });
    try {
      abortSignal.throwIfAborted();
      const after = await this.#begin(run, known !== null);
      return after === undefined ? undefined : await this.#follow(run, after);
    } finally {
      abortSignal.removeEventListener("abort", cancel);
    }
  }

  /** Starts or resumes the run. Returns the number of the last event that was told before; nothing if it was refused. */
  async #begin(
    run: Awaited<ReturnType<Workflow["createRun"]>>,
    isKnown: boolean,
  ): Promise<number | undefined> {
    const { requestContext, resumeData, suspendData } = this.#options;
    const context = { requestContext: requestContext.without(THREAD_KEYS) };
    const asked = metaIn(suspendData);
    const { end } = await this.#position();
    if (asked && resumeData !== undefined) {
      // Someone may have resumed the workflow without this call. The answer was not for what it asks now.
      if (end > asked.after) return asked.after;
      try {
        await run.resumeAsync({ step: asked.path, resumeData, ...context });
      } catch (error) {
        if (AgentError.is(error, "invalid-argument")) return this.#askAgain(suspendData, asked, error);
        if (!isDone(error)) throw error;
      }
      return asked.after;
    }
    if (isKnown) return end;
    try {
      await run.startAsync({ ...this.#input, ...context });
    } catch (error) {
      if (!isDone(error)) throw error;
    }
    return 0;
  }

  async #follow(
    run: Awaited<ReturnType<Workflow["createRun"]>>,
    after: number,
  ): Promise<WorkflowToolOutput | void> {
    const { writer, abortSignal } = this.#options;
    const rested = await this.#rested(after);
    if (rested) return rested.value;
    for await (const chunk of run.observeStream({ offset: after })) {
      await writer.write(chunk);
      if (chunk.type !== "workflow-finish") continue;
      const found = await this.#rested(chunk.seq);
      if (found) return found.value;
    }
    abortSignal.throwIfAborted();
    throw new AgentError("internal", `The events of workflow run "${this.#runId}" ended before the run.`);
  }

  /** What a run that rests comes to; nothing while it is running, or if something happened after that event. */
  async #rested(after: number): Promise<{ value: WorkflowToolOutput | undefined } | undefined> {
    const result = await this.#workflow.getWorkflowRunExecutionResult(this.#runId);
    if (!result || (await this.#position()).end > after) return undefined;
    if (result.status !== "suspended") return { value: this.#output(result) };
    await this.#suspend(result, after);
    return { value: undefined };
  }

  #output(result: Exclude<WorkflowResult, { status: "suspended" }>): WorkflowToolOutput {
    const runId = this.#runId;
    switch (result.status) {
      case "success":
        return { result: result.result as unknown, runId };
      case "failed":
        return { error: errorMessage(result.error), runId };
      case "tripwire":
        return { error: result.tripwire.reason, runId };
      case "paused":
      case "canceled":
        return { error: `The workflow was ${result.status}.`, runId };
    }
  }

  async #suspend(result: Extract<WorkflowResult, { status: "suspended" }>, after: number): Promise<void> {
    const path = result.suspended[0]!;
    const payload = result.steps[path.join(".")]?.suspendPayload as unknown;
    const meta: WorkflowMeta = { runId: this.#runId, path, after };
    await this.#options.suspend(withMeta(payload, meta), { resumeSchema: this.#resumeSchema(path) });
  }

  async #askAgain(suspendData: unknown, meta: WorkflowMeta, error: AgentError): Promise<undefined> {
    await this.#options.suspend(withMeta(suspendData, { ...meta, error: error.message }), {
      resumeSchema: this.#resumeSchema(meta.path),
    });
  }

  #resumeSchema(path: readonly string[]): Schema | undefined {
    return this.#workflow.stepAt(path)?.resumeSchema;
  }

  #position(): Promise<{ start: number; end: number }> {
    return this.#workflow.engine().position(this.#runId);
  }
}

const MAX_ID = 250;

/** An id that fits into a column. Calls whose ids begin alike have runs of their own. */
function runIdOf(id: string): string {
  if (id.length <= MAX_ID) return id;
  return `${id.slice(0, MAX_ID - 44)}-${createHash("sha256").update(id).digest("base64url")}`;
}

const META = "__workflow_meta";

function withMeta(payload: unknown, meta: WorkflowMeta): object {
  if (payload === undefined || payload === null) return { [META]: meta };
  return isObject(payload) && !Array.isArray(payload)
    ? { ...payload, [META]: meta }
    : { suspendPayload: payload, [META]: meta };
}

function metaIn(suspendData: unknown): WorkflowMeta | undefined {
  const meta = isObject(suspendData) ? (suspendData[META] as WorkflowMeta | undefined) : undefined;
  return Array.isArray(meta?.path) && typeof meta.after === "number" ? meta : undefined;
}

/** The workflow that a call waits for. */
export function workflowWaitOf(call: {
  toolName: string;
  suspendPayload?: unknown;
}): { key: string; runId: string } | undefined {
  const meta = call.toolName.startsWith(WORKFLOW_TOOL) ? metaIn(call.suspendPayload) : undefined;
  return meta && { key: call.toolName.slice(WORKFLOW_TOOL.length), runId: meta.runId };
}

/** It was started or resumed before, perhaps by an earlier attempt of this call. */
function isDone(error: unknown): boolean {
  return AgentError.is(error, "conflict") || AgentError.is(error, "already-decided");
}
