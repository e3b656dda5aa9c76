import { type StoredMessage, type ToolCallPayload, toolArgument } from "@selvedge/protocol";
import { offAbort, onAbort } from "../abort.ts";
import { AgentError } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { ApprovalRule, ToolLimits, ToolPermission } from "./tool-limits.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import type { Write } from "../storage/storage.ts";
import type { System } from "../system.ts";
import { checkInput, checkOutput, type InputCheck, inputError } from "./check-payload.ts";
import { limitError } from "./limit-error.ts";
import { NO_ELICITATION } from "./direct-call.ts";
import { limitResult } from "./limit-result.ts";
import { notify } from "./notify.ts";
import type { ToolExecutionOptions, ToolThreadState, ToolWriter } from "./tool.ts";
import type { PreparedTool, ToolSet } from "./tool-set.ts";
import { showIssues } from "../schema/show-issues.ts";

/** The outcome of a tool call. Every call ends with one of these; nothing is thrown. */
export type ToolOutcome =
  | { kind: "result"; result: unknown; modelOutput?: unknown; isError?: boolean }
  | { kind: "error"; error: unknown }
  /** The caller must execute it. */
  | { kind: "client" }
  /** `bounds`: see `ToolPermission`. `again`: an earlier approval no longer counts. */
  | { kind: "approval"; reason?: string; bounds?: string; again?: true }
  /** A person or a rule declined it. */
  | { kind: "denied"; reason: string }
  /** `resumeSchema` is JSON Schema as text, if the answer has its own. */
  | { kind: "suspended"; payload: unknown; resumeSchema?: string };

/** A call whose arguments were parsed: ready to run, or already with an outcome. */
export type CheckedCall =
  | { call: ToolCallPayload; outcome: ToolOutcome }
  | { call: ToolCallPayload; tool: PreparedTool; input: unknown; outcome?: undefined };

/** Why a call needs no further approval. */
export interface CallAnswer {
  resumeData?: unknown;
  /** What the call was suspended with. */
  suspendData?: unknown;
  /** What bounded the call when it was approved. */
  bounds?: string | undefined;
  /** It was about to run when its process died, and may not have begun. */
  isRepeated?: true;
}

export interface ToolRunContext {
  /** `undefined` if the call was not made by an agent. */
  agentId: string | undefined;
  tools: ToolSet;
  activeTools: readonly string[] | undefined;
  requireApproval: ApprovalRule | undefined;
  requestContext: RequestContext;
  mastra: unknown;
  /** What the agent has besides tools; passed to each of them. */
  belongings?: { workspace?: unknown; browser?: unknown };
  threadId: string | undefined;
  resourceId: string | undefined;
  runId: string;
  messages: () => StoredMessage[];
  abortSignal: AbortSignal;
  limits: ToolLimits;
  timers: Pick<System, "setTimer">;
  threadState: ToolThreadState | undefined;
  /** What calls saved of their progress before a crash, and where to save it. Absent if the run is not stored. */
  progress?: {
    saved: ReadonlyMap<string, unknown>;
    save(toolCallId: string, value: unknown, alongside?: readonly Write[]): Promise<void>;
  };
  writer(call: ToolCallPayload): ToolWriter;
  /** Calls that were answered, with the answers: they need no further approval. */
  answered: ReadonlyMap<string, CallAnswer>;
}

/**
 * Parses a call: whether the tool exists, its input is valid, and it may run without approval. Asynchronous only if one
 * of these is.
 */
export function checkCall(
  call: ToolCallPayload,
  context: ToolRunContext,
): CheckedCall | Promise<CheckedCall> {
  const tool = context.tools.get(call.toolName);
  if (!tool || (context.activeTools && !context.activeTools.includes(call.toolName))) {
    return { call, outcome: { kind: "error", error: unknownTool(call.toolName, context) } };
  }
  // The tool's own code failed; its message may be private.
  const failed = (error: unknown): CheckedCall => ({
    call,
    outcome: { kind: "error", error: limitError(error, context.limits.toolErrorBytes) },
  });
  let input: ReturnType<typeof readInput>;
  try {
    input = readInput(tool, call);
  } catch (error) {
    return failed(error);
  }
  return input instanceof Promise
    ? input.then((late) => admit(call, tool, late, context), failed)
    : admit(call, tool, input, context);
}

function admit(
  call: ToolCallPayload,
  tool: PreparedTool,
  input: InputCheck,
  context: ToolRunContext,
): CheckedCall | Promise<CheckedCall> {
  if (!input.ok) return { call, outcome: { kind: "result", result: input.error, isError: true } };
  const { definition } = tool;
  notify(definition.onInputAvailable?.bind(definition), {
    toolCallId: call.toolCallId,
    input: input.value,
  });
  const ready: CheckedCall = definition.execute
    ? { call, tool, input: input.value }
    : { call, outcome: { kind: "client" } };
  const nobodyAsks = definition.requireApproval === undefined && context.requireApproval === undefined;
  if (nobodyAsks) return ready;
  const answer = context.answered.get(call.toolCallId);
  if (answer) return answer.bounds === undefined && !answer.isRepeated ? ready : stillBound(ready, answer);
  return permissionFor(tool, input.value, context).then((permission) => {
    const { decision, reason } = permission;
    if (decision === "allow") return ready;
    if (decision === "deny") return { call, outcome: { kind: "denied", reason: reason ?? NOT_ALLOWED } };
    return { call, outcome: question(permission) };
  });

  /** Asks again if what bounds the call has changed since it was approved. */
  async function stillBound(ready: CheckedCall, { bounds }: CallAnswer): Promise<CheckedCall> {
    const now = await ownPermission(tool, input.ok && input.value, context.requestContext);
    if (now.bounds === undefined || now.decision === "allow" || now.bounds === bounds) return ready;
    const reason = [bounds === undefined ? undefined : CHANGED, now.reason].filter(Boolean).join(" ");
    return { call, outcome: { ...question({ ...now, reason }), again: true } };
  }
}

/** Runs a checked call. The only place in the system where an agent's tool is executed. */
export async function executeTool(
  checked: Extract<CheckedCall, { tool: PreparedTool }>,
  context: ToolRunContext,
): Promise<ToolOutcome> {
  const { call, tool, input } = checked;
  const { definition } = tool;
  const resumeData = context.answered.get(call.toolCallId)?.resumeData;
  if (definition.resumeSchema && resumeData !== undefined) {
    const unfit = await checkResumeData(definition.resumeSchema, resumeData, tool.name);
    if (unfit) return { kind: "error", error: unfit };
  }
  const wait = new ToolWait(tool, context);
  const suspension: Suspension = { asked: false, payload: undefined };
  const finish = (output: unknown) => toOutcome(checked, context, suspension, output);
  try {
    const options = executionOptions(call, context, wait, resumeData, suspension);
    const output = definition.execute!(toolArgument(input, options) as never, options);
    if (isPromise(output)) return await wait.for(output, finish);
    const outcome = finish(output);
    return outcome instanceof Promise ? await wait.for(outcome, (read) => read) : outcome;
  } catch (error) {
    return { kind: "error", error: limitError(error, context.limits.toolErrorBytes) };
  } finally {
    wait.end();
  }
}

/** The payload of `suspend()`. */
interface Suspension {
  asked: boolean;
  payload: unknown;
  resumeSchema?: Schema | undefined;
}

/** Waits for a tool until it ends, its run is aborted, or its time is up. */
class ToolWait {
  readonly #tool: PreparedTool;
  readonly #context: ToolRunContext;
  #controller: AbortController | undefined;
  #reason: { why: unknown } | undefined;
  #giveUp: ((error: AgentError) => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  constructor(tool: PreparedTool, context: ToolRunContext) {
    this.#tool = tool;
    this.#context = context;
    const { abortSignal } = context;
    if (abortSignal.aborted) this.#abort(abortSignal.reason);
  }

  /** Tells the tool that its result is no longer awaited. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#reason) this.#controller.abort(this.#reason.why);
    }
    return this.#controller.signal;
  }

  /** How long it may take; 0 means no limit. */
  get ms(): number {
    return this.#tool.definition.timeoutMs ?? this.#context.limits.toolTimeoutMs;
  }

  #abort(why: unknown): void {
    this.#reason ??= { why };
    this.#controller?.abort(why);
  }

  /** Waits for `work` and then for what `finish` makes of its value. */
  for<Value>(
    work: PromiseLike<Value>,
    finish: (value: Value) => ToolOutcome | Promise<ToolOutcome>,
  ): Promise<ToolOutcome> {
    const { abortSignal, timers } = this.#context;
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      const take = (value: Value): void => {
        try {
          const outcome = finish(value);
          // Also when the wait is over: an error that nobody takes would end the process.
          if (outcome instanceof Promise) outcome.then(resolve, reject);
          else resolve(outcome);
        } catch (error) {
          reject(error as Error);
        }
      };
      Promise.resolve(work).then(take, reject);
      // From here on; nothing else can happen before the tool returns its promise.
      if (abortSignal.aborted) return this.handleEvent();
      onAbort(abortSignal, this);
      const { ms } = this;
      if (ms > 0) this.#cancelTimer = timers.setTimer(ms, () => this.#timeOut(ms));
    });
  }

  end(): void {
    this.#cancelTimer?.();
    if (this.#giveUp) offAbort(this.#context.abortSignal, this);
  }

  /** The run was aborted. */
  handleEvent(): void {
    const message = `The run was aborted while tool "${this.#tool.name}" was working.`;
    this.#abort(this.#context.abortSignal.reason);
    this.#giveUp!(new AgentError("tool-aborted", message));
  }

  #timeOut(ms: number): void {
    const message = `Tool "${this.#tool.name}" did not return within ${ms} ms (limits.toolTimeoutMs).`;
    const error = new AgentError("tool-timeout", message);
    this.#abort(error);
    this.#giveUp!(error);
  }
}

function executionOptions(
  call: ToolCallPayload,
  context: ToolRunContext,
  wait: ToolWait,
  resumeData: unknown,
  suspension: Suspension,
): ToolExecutionOptions {
  const { requestContext, mastra, runId, threadId, resourceId, agentId } = context;
  const { toolCallId } = call;
  const messages = context.messages();
  const writer = context.writer(call);
  const suspend: ToolExecutionOptions["suspend"] = async (payload, asked) => {
    suspension.asked = true;
    suspension.payload = payload;
    suspension.resumeSchema = asked?.resumeSchema;
  };
  const options: ToolExecutionOptions = {
    requestContext,
    runtimeContext: requestContext,
    mastra,
    runId,
    threadId,
    resourceId,
    toolCallId,
    messages,
    writableStream: writer,
    suspend,
    abortSignal: wait.signal,
    writer,
    idempotencyKey: `${runId}:${toolCallId}`,
    saveProgress: async (value, alongside) => context.progress?.save(toolCallId, value, alongside),
    elicitation: NO_ELICITATION,
    flushMessages,
    timeoutMs: wait.ms,
  };
  // A spread or a getter in the literal above would make every call slower.
  if (context.belongings) Object.assign(options, context.belongings);
  if (context.progress?.saved.has(toolCallId)) options.progress = context.progress.saved.get(toolCallId);
  if (context.threadState) options.threadState = context.threadState;
  if (resumeData !== undefined) options.resumeData = resumeData;
  const suspendData = context.answered.get(toolCallId)?.suspendData;
  if (suspendData !== undefined) options.suspendData = suspendData;
  if (agentId === undefined) return options;
  options.agent = { agentId, threadId, resourceId, toolCallId, messages, writableStream: writer, suspend };
  if (resumeData !== undefined) options.agent.resumeData = resumeData;
  return options;
}

async function flushMessages(): Promise<void> {}

function toOutcome(
  { call, tool, input }: Extract<CheckedCall, { tool: PreparedTool }>,
  { limits }: ToolRunContext,
  suspension: Suspension,
  output: unknown,
): ToolOutcome | Promise<ToolOutcome> {
  if (suspension.asked)
    return {
      kind: "suspended",
      payload: limitResult(suspension.payload, limits.toolResultBytes, tool.name),
      ...(suspension.resumeSchema && {
        resumeSchema: JSON.stringify(compileSchema(suspension.resumeSchema).jsonSchema),
      }),
    };
  const { toModelOutput, onOutput } = tool.definition;
  if (tool.output || toModelOutput || onOutput)
    return readOutput(tool, output, limits.toolResultBytes, call, input);
  return { kind: "result", result: limitResult(output, limits.toolResultBytes, tool.name) };
}

async function readOutput(
  tool: PreparedTool,
  output: unknown,
  maxBytes: number,
  call: ToolCallPayload,
  input: unknown,
): Promise<ToolOutcome> {
  const result = await checkOutput(tool.name, tool.output, output);
  const limited = limitResult(result, maxBytes, tool.name);
  const { toModelOutput, onOutput } = tool.definition;
  const modelOutput = toModelOutput
    ? limitResult(
        await toModelOutput.call(tool.definition, result as never, { toolCallId: call.toolCallId, input }),
        maxBytes,
        tool.name,
      )
    : undefined;
  notify(onOutput?.bind(tool.definition), {
    toolCallId: call.toolCallId,
    toolName: tool.name,
    output: result,
  });
  return { kind: "result", result: limited, ...(modelOutput !== undefined && { modelOutput }) };
}

function readInput(tool: PreparedTool, call: ToolCallPayload): ReturnType<typeof checkInput> {
  const { args } = call;
  const isObject = typeof args === "object" && !Array.isArray(args);
  // A schema may accept a list or a number. Text is what could not be parsed.
  if (isObject || (tool.input && typeof args !== "string")) return checkInput(tool.name, tool.input, args);
  const message = `The input of tool "${tool.name}" is not a JSON object. Please call it again with one.`;
  return { ok: false, error: inputError(message) };
}

function question({ reason, bounds }: ToolPermission): Extract<ToolOutcome, { kind: "approval" }> {
  return {
    kind: "approval",
    ...(reason !== undefined && { reason }),
    ...(bounds !== undefined && { bounds }),
  };
}

const CHANGED = "This call was approved under other conditions, which have changed.";
const NOT_ALLOWED = "This call is not allowed.";
const ASK: ToolPermission = { decision: "ask" };
const ALLOW: ToolPermission = { decision: "allow" };

async function permissionFor(
  tool: PreparedTool,
  input: unknown,
  { requireApproval, requestContext }: ToolRunContext,
): Promise<ToolPermission> {
  // If the check fails, ask the person.
  try {
    const call = { toolName: tool.name, args: input, requestContext };
    const said = typeof requireApproval === "function" ? await requireApproval(call) : requireApproval;
    const rule = typeof said === "object" && said !== null ? known(said) : said ? ASK : undefined;
    if (rule?.decision === "deny") return rule;
    const itself = await ownPermission(tool, input, requestContext);
    const isTooBroad = rule?.byCategory && itself.explicit && itself.decision === "ask";
    if (!rule || itself.always || isTooBroad) return itself;
    // The person who is asked also sees what the tool says about the call.
    return rule.decision === "ask" ? { ...itself, ...rule } : rule;
  } catch {
    return ASK;
  }
}

/** What the tool itself says about a call. If its check fails, it asks. */
export async function ownPermission(
  { definition: { requireApproval: own } }: Pick<PreparedTool, "definition">,
  input: unknown,
  requestContext: RequestContext,
): Promise<ToolPermission> {
  try {
    const asks = typeof own === "function" ? await own(input as never, { requestContext }) : own;
    return typeof asks === "object" ? known(asks) : asks ? ASK : ALLOW;
  } catch {
    return ASK;
  }
}

function known(permission: ToolPermission): ToolPermission {
  return permission.decision in ANSWERS ? permission : ASK;
}

const ANSWERS: Record<ToolPermission["decision"], true> = { allow: true, ask: true, deny: true };

async function checkResumeData(schema: Schema, data: unknown, name: string): Promise<AgentError | undefined> {
  const checked = await compileSchema(schema).validate(data);
  if (checked.ok) return undefined;
  const list = showIssues(checked.issues, "resumeData");
  return new AgentError(
    "tool-input-invalid",
    `The answer to tool "${name}" does not match its resumeSchema: ${list}`,
  );
}

function unknownTool(name: string, context: ToolRunContext): AgentError {
  const available = [...context.tools.keys()].filter(
    (key) => !context.activeTools || context.activeTools.includes(key),
  );
  const list =
    available.length > 0
      ? `Available tools: ${available.slice(0, 50).join(", ")}.`
      : "No tools are available.";
  return new AgentError("tool-not-found", `There is no tool "${name}". ${list}`);
}
