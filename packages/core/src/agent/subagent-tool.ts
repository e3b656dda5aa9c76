import { isHiddenFailure, toolFailed } from "@selvedge/protocol";
import { AGENT_TOOL, type SubagentWait } from "@selvedge/protocol/session";
import { AgentError } from "../errors.ts";
import { RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import type { JsonSchema } from "../schema/schema.ts";
import type { Storage } from "../storage/storage.ts";
import type { NumberedChunk } from "../thread/threads.ts";
import { createTool, type Tool, type ToolExecutionOptions } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";
import { followSubagent } from "./follow-subagent.ts";
import { findTask } from "./subagent-task.ts";

export interface SubagentInput {
  prompt: string;
  /** Continues an earlier conversation with the subagent. */
  threadId?: string;
  instructions?: string;
  maxSteps?: number;
}

export interface SubagentOutput {
  text: string;
  subAgentThreadId?: string;
  subAgentResourceId?: string;
  subAgentToolResults?: { toolName: string; toolCallId: string; result: unknown }[];
}

const INPUT: JsonSchema = {
  type: "object",
  properties: {
    prompt: { type: "string", description: "What the agent should do, with everything it needs to know." },
    threadId: {
      type: "string",
      description: "To continue an earlier conversation: the subAgentThreadId it returned.",
    },
    resourceId: { type: "string", description: "Ignored: the agent works for the same resource as you do." },
    instructions: { type: "string", description: "Instructions in place of the agent's own." },
    maxSteps: { type: "integer", minimum: 1 },
  },
  required: ["prompt"],
};

/**
 * An agent as a tool of another. Its chunks appear on the parent's stream as `tool-output`. With memory, it keeps
 * its own threads under a resource derived from the parent's, never one that the model named. If its threads are in the
 * parent's store, the parent finds it again after a crash, and waits when it waits for a person.
 */
export function subagentTool(
  key: string,
  agent: Agent<any, any>,
  parentStorage: Storage | undefined,
): Tool<JsonSchema, undefined> {
  const isTogether = parentStorage !== undefined && agent.threadStorage === parentStorage;
  return createTool({
    id: `${AGENT_TOOL}${key}`,
    description: agent.description || `Agent: ${agent.name}`,
    inputSchema: INPUT,
    ...(isTogether && { idempotent: true }),
    execute: async ({ context }, options) => {
      const call = new SubagentCall(key, agent, context as SubagentInput, options);
      const { threadId, resourceId } = options;
      if (!isTogether || threadId === undefined || resourceId === undefined) return call.carryOut();
      return call.carryOutIn(parentStorage);
    },
  });
}

/** The parent's thread is not the subagent's. */
const THREAD_KEYS = [THREAD_ID_KEY, RESOURCE_ID_KEY];

/** One call of a subagent. */
class SubagentCall {
  readonly #agent: Agent<any, any>;
  readonly #input: SubagentInput;
  readonly #options: ToolExecutionOptions;
  /** Made of the call: after a crash it is found again by it. */
  readonly #id: string;
  readonly #thread: { threadId: string; resourceId: string } | undefined;

  constructor(key: string, agent: Agent<any, any>, input: SubagentInput, options: ToolExecutionOptions) {
    const { resourceId, runId, toolCallId } = options;
    this.#agent = agent;
    this.#input = input;
    this.#options = options;
    this.#id = `${runId}-${toolCallId}`.slice(0, 250);
    if (agent.hasMemory && resourceId !== undefined)
      this.#thread = {
        threadId: input.threadId ?? this.#id,
        resourceId: `${resourceId}/${AGENT_TOOL}${key}`,
      };
  }

  /** Without a thread: it cannot wait for a person. */
  async carryOut(): Promise<SubagentOutput> {
    const output = await this.#start(false);
    return (await this.#read(output))!;
  }

  /** On a thread of the parent's store. Returns `undefined` if it waits for a person: then the call waits, too. */
  async carryOutIn(storage: Storage): Promise<SubagentOutput | void> {
    const { threadId } = this.#thread!;
    const resumed = this.#options.resumeData as { after?: number } | undefined;
    const found = await findTask(storage, threadId, this.#id);
    if (!found) {
      const done = await this.#read(await this.#start(true));
      return done ?? this.#follow(storage, undefined);
    }
    if (!found.isOver) return this.#follow(storage, resumed?.after, found.lastSeq);
    return this.#result(storage);
  }

  #start(mayWait: boolean): ReturnType<Agent["streamAsTool"]> {
    const { prompt, instructions, maxSteps } = this.#input;
    const { requestContext, abortSignal, threadId: parentThreadId } = this.#options;
    const { threadId: id, resourceId } = this.#thread ?? {};
    const metadata = { subagent: true, ...(parentThreadId !== undefined && { parentThreadId }) };
    const thread =
      id === undefined ? undefined : { id, ...(this.#input.threadId === undefined && { metadata }) };
    const task = mayWait ? [{ id: this.#id, role: "user" as const, content: prompt }] : prompt;
    return this.#agent.streamAsTool(
      task,
      {
        requestContext: requestContext.without(THREAD_KEYS),
        abortSignal,
        ...(instructions !== undefined && { instructions }),
        ...(maxSteps !== undefined && { maxSteps }),
        ...(thread && { memory: { thread, resource: resourceId! } }),
      },
      mayWait,
    );
  }

  /** What the run comes to that this call began; nothing where it waits. */
  async #read(output: Awaited<ReturnType<Agent["streamAsTool"]>>): Promise<SubagentOutput | undefined> {
    for await (const chunk of output.fullStream) await this.#options.writer.write(chunk);
    if ((await output.finishReason) === "suspended") return undefined;
    const { tripwire, text, steps, toolResults } = await output.getFullOutput();
    if (tripwire) throw this.#stopped(tripwire.reason);
    const failures = steps.flatMap(({ content }) => content.filter(isHiddenFailure));
    const hidden = new Set(failures.map(({ toolInvocation }) => toolInvocation.toolCallId));
    return this.#output(
      text,
      toolResults.map(({ toolName, toolCallId, result }) => ({
        toolName,
        toolCallId,
        result,
        isHidden: hidden.has(toolCallId),
      })),
    );
  }

  /** Reads along with a run that is there. What is `known` was told before, and so was all up to its first question. */
  async #follow(storage: Storage, after: number | undefined, known?: number): Promise<SubagentOutput | void> {
    const { abortSignal, writer, suspend } = this.#options;
    const found = await findTask(storage, this.#thread!.threadId, this.#id);
    if (!found || found.isOver) return this.#result(storage);
    let isQuiet = after === undefined;
    let tripwire: string | undefined;
    const take = (chunk: NumberedChunk): boolean => {
      if (chunk.runId !== found.runId) return false;
      if (known !== undefined && chunk.seq > known) isQuiet = false;
      if (!isQuiet) void writer.write(chunk);
      if (chunk.type === "tripwire") tripwire = chunk.payload.reason;
      const waits = chunk.type === "finish" && chunk.payload.stepResult.reason === "suspended";
      if (waits) isQuiet = false;
      return chunk.type === "abort" || chunk.type === "error" || (chunk.type === "finish" && !waits);
    };
    const subject = { agent: this.#agent, storage, ...this.#thread!, abortSignal };
    const subagent = await followSubagent(subject, after ?? found.after, take);
    if (tripwire !== undefined) throw this.#stopped(tripwire);
    if (!subagent) return this.#result(storage);
    await suspend({ subagent } satisfies SubagentWait);
  }

  /** From what is stored of the run. */
  async #result(storage: Storage): Promise<SubagentOutput> {
    this.#options.abortSignal.throwIfAborted();
    const found = await findTask(storage, this.#thread!.threadId, this.#id);
    if (found?.error) throw new AgentError("internal", `Agent "${this.#agent.name}" failed: ${found.error}`);
    const parts = (await found?.answer()) ?? [];
    const last = parts.findLastIndex(({ type }) => type === "step-start");
    const text = parts.slice(last + 1).flatMap((part) => (part.type === "text" ? part.text : []));
    const results = parts.flatMap((part) =>
      part.type === "tool-invocation" && "result" in part.toolInvocation
        ? [{ ...part.toolInvocation, isHidden: isHiddenFailure(part) }]
        : [],
    );
    return this.#output(text.join(""), results);
  }

  #output(
    text: string,
    results: readonly { toolName: string; toolCallId: string; result?: unknown; isHidden: boolean }[],
  ): SubagentOutput {
    const thread = this.#thread;
    const told = results.map(({ toolName, toolCallId, result, isHidden }) => ({
      toolName,
      toolCallId,
      // Its words are for the subagent's model and for the log.
      result: isHidden ? toolFailed(toolName, toolCallId) : result,
    }));
    return {
      text,
      ...(thread && { subAgentThreadId: thread.threadId, subAgentResourceId: thread.resourceId }),
      ...(told.length > 0 && { subAgentToolResults: told }),
    };
  }

  #stopped(reason: string): AgentError {
    return new AgentError("tripwire", `Agent "${this.#agent.name}" was stopped: ${reason}`);
  }
}
