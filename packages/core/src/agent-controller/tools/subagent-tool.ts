import type { AgentChunk } from "@selvedge/protocol";
import { type AgentControllerEvent, SUBAGENT, type SubagentWait, toError } from "@selvedge/protocol/session";
import type { Agent } from "../../agent/agent.ts";
import { AgentError, errorMessage } from "../../errors.ts";
import type { JsonSchema } from "../../schema/schema.ts";
import type { Storage } from "../../storage/storage.ts";
import type { System } from "../../system.ts";
import { followSubagent } from "../../agent/follow-subagent.ts";
import { RESOURCE_ID_KEY, THREAD_ID_KEY } from "../../request-context/request-context.ts";
import { createTool, type Tool, type ToolExecutionOptions } from "../../tool/tool.ts";
import type { AgentControllerSubagent } from "../config.ts";
import { forkThread } from "../fork-thread.ts";
import type { AgentControllerRequestContext } from "../request-context.ts";
import { CONTROLLER_KEY } from "../request-context.ts";
import { subagentThreadId } from "../thread-settings.ts";

export const IN_FORK = "The tool subagent is not available inside a forked subagent. Do the work yourself.";

interface SubagentCall {
  agentType: string;
  task: string;
  modelId?: string;
  forked?: boolean;
}

/** What the call of a subagent needs of its controller. */
export interface SubagentHost {
  readonly subagents: readonly AgentControllerSubagent[];
  readonly agent: Agent;
  readonly storage: Storage;
  readonly system: System;
  /** The model for a subagent that names none; empty for the session's. */
  defaultModel(subagent: AgentControllerSubagent): string;
  /** Copies a thread, if a memory can. */
  clone: Parameters<typeof forkThread>[0]["clone"] | undefined;
}

type Result = { content: string; isError: boolean };

/**
 * Gives a task to a subagent: a run on a separate thread, whose id is derived from the call, so that the call finds it
 * after a crash. When the subagent asks a person, the call waits with it, in the store.
 */
export function createSubagentTool(host: SubagentHost): Tool<JsonSchema, undefined> {
  const { subagents } = host;
  const list = subagents.map(({ id, description }) => `- ${id}: ${description}`).join("\n");
  return createTool({
    id: SUBAGENT,
    description: `Give a task to a subagent and get its answer. It sees only what you write in the task, unless it is forked.\n${list}`,
    inputSchema: {
      type: "object",
      properties: {
        agentType: { type: "string", enum: subagents.map(({ id }) => id) },
        task: { type: "string", minLength: 1, description: "What to do, with all that is needed to do it." },
        modelId: { type: "string", description: "A model to use instead of the default one." },
        forked: { type: "boolean", description: "Work on a copy of this conversation." },
      },
      required: ["agentType", "task"],
    } as JsonSchema,
    idempotent: true,
    // It ends with the run or when it is aborted: people may take long to answer.
    timeoutMs: 0,
    execute: async ({ context }, options) =>
      new SubagentRun(host, context as SubagentCall, options).carryOut(),
  });
}

/** One call of a subagent. */
class SubagentRun {
  readonly #host: SubagentHost;
  readonly #call: SubagentCall;
  readonly #options: ToolExecutionOptions;
  readonly #threadId: string;
  readonly #resourceId: string;
  #text = "";

  constructor(host: SubagentHost, call: SubagentCall, options: ToolExecutionOptions) {
    this.#host = host;
    this.#call = call;
    this.#options = options;
    this.#threadId = subagentThreadId(options);
    this.#resourceId = options.resourceId ?? "";
  }

  async carryOut(): Promise<Result | void> {
    const { agentType, task } = this.#call;
    const definition = this.#host.subagents.find(({ id }) => id === agentType);
    if (!definition || this.#options.threadId === undefined)
      return {
        content: definition
          ? "A subagent needs a thread, and this run has none."
          : `There is no subagent "${agentType}". Subagents: ${this.#host.subagents.map(({ id }) => id).join(", ")}.`,
        isError: true,
      };
    const forked = this.#call.forked ?? definition.forked ?? false;
    const began = this.#host.system.monotonic();
    const modelId = this.#modelFor(definition);
    const resumed = this.#options.resumeData as { after?: number } | undefined;
    if (!resumed)
      this.#tell({
        type: "subagent_start",
        toolCallId: this.#options.toolCallId,
        agentType,
        task,
        modelId: (forked ? "" : modelId) || this.#sessionModel,
        ...(forked && { forked }),
      });
    const result = await this.#work(definition, modelId, forked, resumed?.after).catch((error: unknown) => ({
      content: `The subagent failed: ${errorMessage(error)}`,
      isError: true,
    }));
    if (!result) return undefined;
    const durationMs = Math.round(this.#host.system.monotonic() - began);
    const { content, isError } = result;
    this.#tell({
      type: "subagent_end",
      toolCallId: this.#options.toolCallId,
      agentType,
      result: content,
      isError,
      durationMs,
    });
    return result;
  }

  /** The result, or `undefined` if the subagent waits for a person: then this call waits, too. */
  async #work(
    definition: AgentControllerSubagent,
    modelId: string,
    forked: boolean,
    after: number | undefined,
  ): Promise<Result | undefined> {
    const { agent, storage } = this.#host;
    const [threadId, resourceId] = [this.#threadId, this.#resourceId];
    if (after === undefined) await this.#begin(definition, modelId, forked);
    const { abortSignal } = this.#options;
    let end: Result | undefined;
    // After a crash, all of it follows the second `subagent_start`: what was told before may not have been stored.
    const subagent = await followSubagent(
      { agent, storage, threadId, resourceId, abortSignal },
      after ?? 0,
      (chunk) => (end = this.#take(chunk)) !== undefined,
    );
    if (!subagent) return end ?? this.#aborted();
    await this.#options.suspend({ subagent } satisfies SubagentWait);
    return undefined;
  }

  /** Sends the task. Sent again after a crash, it is the same message. */
  async #begin(definition: AgentControllerSubagent, modelId: string, forked: boolean): Promise<void> {
    const { agent, clone } = this.#host;
    const { requestContext, runId, toolCallId, threadId: parentThreadId } = this.#options;
    const [threadId, resourceId] = [this.#threadId, this.#resourceId];
    const context = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
    const { id: sessionId = null, modeId = null } = context.session ?? {};
    const current = this.#sessionModel;
    if (forked) {
      if (!clone)
        throw new AgentError("memory-required", "A fork needs a memory: pass memory to the AgentController.");
      await forkThread(
        { clone, storage: this.#host.storage },
        { threadId, parentThreadId: parentThreadId!, resourceId, runId: runId!, toolCallId },
      );
    }
    const profile = {
      sessionId,
      modeId,
      modelId: forked ? current : modelId || current,
      subagent: forked ? null : definition.id,
      fork: forked,
    };
    const metadata = {
      subagent: true,
      parentThreadId,
      agentType: definition.id,
      ...(forked && { forkedSubagent: true }),
    };
    const streamOptions = {
      profile,
      requestContext: requestContext.without([CONTROLLER_KEY, THREAD_ID_KEY, RESOURCE_ID_KEY]),
      memory: { thread: { id: threadId, metadata }, resource: resourceId },
    };
    const sent = agent.sendMessage(this.#call.task, {
      threadId,
      resourceId,
      idempotencyKey: "task",
      ifIdle: { streamOptions },
    });
    await sent.admitted;
  }

  #take(chunk: AgentChunk): Result | undefined {
    const { agentType } = this.#call;
    const of = { toolCallId: this.#options.toolCallId, agentType };
    switch (chunk.type) {
      case "step-start":
        this.#text = "";
        return undefined;
      case "text-delta":
        this.#text += chunk.payload.text;
        this.#tell({ type: "subagent_text_delta", ...of, textDelta: chunk.payload.text });
        return undefined;
      case "tool-call":
        this.#tell({
          type: "subagent_tool_start",
          ...of,
          subToolName: chunk.payload.toolName,
          subToolArgs: chunk.payload.args,
        });
        return undefined;
      case "tool-result":
      case "tool-error":
      case "tool-output-denied": {
        const { toolName } = chunk.payload;
        const isError = chunk.type !== "tool-result" || chunk.payload.isError === true;
        const subToolResult = chunk.type === "tool-result" ? chunk.payload.result : undefined;
        this.#tell({ type: "subagent_tool_end", ...of, subToolName: toolName, subToolResult, isError });
        return undefined;
      }
      case "abort":
        return this.#aborted();
      case "error":
        return { content: `The subagent failed: ${toError(chunk.payload.error).message}`, isError: true };
      case "finish":
        if (chunk.payload.stepResult.reason === "suspended") return undefined;
        return { content: this.#text || "The subagent finished without an answer.", isError: false };
    }
    return undefined;
  }

  #aborted(): Result {
    return {
      content: `The subagent was aborted.${this.#text ? ` It had said: ${this.#text}` : ""}`,
      isError: false,
    };
  }

  get #sessionModel(): string {
    const context = this.#options.requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
    return context.session?.modelId ?? "";
  }

  #modelFor(definition: AgentControllerSubagent): string {
    const { requestContext } = this.#options;
    const context = requestContext.get(CONTROLLER_KEY) as AgentControllerRequestContext;
    const set = context.getSubagentModelId({ agentType: definition.id });
    return this.#call.modelId ?? set ?? this.#host.defaultModel(definition);
  }

  #tell(event: AgentControllerEvent): void {
    void this.#options.writer.custom({ type: "data-controller-event", data: event, transient: true });
  }
}
