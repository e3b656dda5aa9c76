import type { ToolCallPayload, ToolInvocation } from "@selvedge/protocol";
import { AgentError, errorMessage, toolErrorCode } from "../errors.ts";
import { roughSize } from "../json.ts";
import { isPromise } from "../is-promise.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import {
  type CheckedCall,
  checkCall,
  executeTool,
  type ToolOutcome,
  type ToolRunContext,
} from "../tool/execute-tool.ts";
import { limitResult } from "../tool/limit-result.ts";
import { sleep } from "../system.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { ToolThreadState, ToolWriter } from "../tool/tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { PayloadTransform, TransformContext } from "../tool/transform.ts";
import { agentChunk } from "./model-part-chunk.ts";
import type { JournaledCall } from "./resume.ts";
import type { OpenCall, Run, RunSpec } from "./run.ts";
import type { StepBuilder } from "./step-builder.ts";
import { stepRecord } from "./step-record.ts";

const DEFAULT_CONCURRENCY = 10;

export interface ToolCallsOutcome {
  /** Some call was answered here, so the model has something to go on with. */
  answered: boolean;
  /** Some call is left for the caller to execute. */
  client: boolean;
  /** Some call waits for a person. */
  suspended: boolean;
  /** Says on the message which calls wait, so that a page that loads later can show them. */
  metadata: Record<string, unknown> | undefined;
}

/** Answers the tool calls of a step: those that need nobody run at once, in parallel; the others wait. */
export async function runToolCalls(
  run: Run,
  step: StepBuilder,
  tools: ToolSet,
  activeTools: readonly string[] | undefined,
  earlier: ReadonlyMap<string, JournaledCall> = NOTHING,
): Promise<ToolCallsOutcome> {
  const calls = step.calls.filter((call) => !call.providerExecuted);
  if (calls.length === 0) return NO_CALLS;
  const objections: unknown[] = [];
  const context = toolContext(run, tools, activeTools, objections, earlier);
  const found = calls.map((call) => {
    const known = fromEarlier(call, earlier, tools) ?? step.tooLong(call) ?? checkCall(call, context);
    if (!isPromise(known)) return known;
    return run.patience.for(`The approval check of tool "${call.toolName}"`, known);
  });
  const checked = found.some(isPromise)
    ? await Promise.all(found.map(async (one) => one))
    : (found as CheckedCall[]);
  if (!run.spec.mayWait) for (const { call, outcome } of checked) refuseToWait(run, call, outcome);
  const { journal } = run.spec;
  const running = checked.filter((item) => !item.outcome);
  // Also of tools that may run again: a model that is asked again makes another call, with another idempotency key.
  const journaled = journal !== undefined && running.length > 0;
  if (journaled) {
    // What began before a crash stays marked, whatever became of it.
    const begun = checked.filter(
      (item) => !item.outcome || earlier.get(item.call.toolCallId)?.state === "started",
    );
    const intents = begun.map(({ call }, position) => ({ ...call, position }));
    await journal.recordIntent(stepRecord(run, step), intents);
  }
  const waiting: OpenCall[] = [];
  let answered = false;
  let client = false;
  const leaveOpen = async (call: ToolCallPayload, outcome: ToolOutcome): Promise<void> => {
    if (outcome.kind === "client") client = true;
    else waiting.push(toOpenCall(call, outcome, tools));
    if (outcome.kind === "suspended") run.count(roughSize(outcome.payload, run.spec.limits.toolResultBytes));
    const approval = outcome.kind === "approval";
    step.updateCall(call.toolCallId, {
      ...(approval && { state: "approval-requested", approval: { id: call.toolCallId } }),
      ...(await transcript(run, call, { outcome })),
    });
  };
  await inParallel(concurrency(run), checked, async (item) => {
    // The step has failed: what has not begun does not begin.
    if (!item.outcome && objections.length > 0) return;
    try {
      const { call } = item;
      const outcome = item.outcome ?? (await execute(run, item, context));
      if (!run.spec.mayWait) refuseToWait(run, call, outcome);
      // One result alone is stored with the step, right after this.
      if (!item.outcome && journaled && running.length > 1 && !run.aborted)
        await journal.recordOutcome(call.toolCallId, outcome);
      if (outcome.kind === "result" || outcome.kind === "error") await answer(run, step, call, outcome);
      else if (outcome.kind === "denied") await deny(run, step, call, outcome.reason);
      else return await leaveOpen(call, outcome);
      answered = true;
    } catch (thrown) {
      // A processor's. The other calls have begun, so they end before the step does.
      objections.push(thrown);
    }
  });
  run.controller.signal.throwIfAborted();
  if (objections.length > 0) throw objections[0];
  run.openCalls = waiting;
  return {
    answered,
    client,
    suspended: waiting.length > 0,
    metadata: waitingMetadata(run, step, waiting, earlier.size > 0),
  };
}

/** Nobody could answer a run that is a tool of another: it fails instead of waiting for ever. */
function refuseToWait(run: Run, { toolName }: ToolCallPayload, outcome: ToolOutcome | undefined): void {
  if (outcome?.kind !== "approval" && outcome?.kind !== "suspended") return;
  const wants = outcome.kind === "approval" ? "needs approval" : "wants to suspend";
  throw new AgentError(
    "not-supported",
    `Tool "${toolName}" of agent "${run.spec.agent.name}" ${wants}, and a subagent cannot wait for a person. Give the tool to the agent that people talk to.`,
  );
}

const NOTHING: ReadonlyMap<string, JournaledCall> = new Map();

/** What the store knows about a call of a run that is gone on with; `undefined` for one that is to be carried out. */
function fromEarlier(
  call: ToolCallPayload,
  earlier: ReadonlyMap<string, JournaledCall>,
  tools: ToolSet,
): CheckedCall | undefined {
  const entry = earlier.get(call.toolCallId);
  if (!entry) return undefined;
  switch (entry.state) {
    case "waiting":
      return {
        call,
        outcome: entry.requiresApproval
          ? { kind: "approval", ...(entry.reason !== undefined && { reason: entry.reason }) }
          : { kind: "suspended", payload: entry.suspendPayload },
      };
    case "done":
      return { call, outcome: entry.outcome! };
    case "started":
      return tools.get(call.toolName)?.definition.idempotent
        ? undefined
        : { call, outcome: outcomeUnknown(call) };
    case "decided": {
      const { approved, reason, message } = entry.decision!;
      return approved
        ? undefined
        : { call, outcome: { kind: "denied", reason: reason ?? message ?? NOT_APPROVED } };
    }
  }
}

/** Takes off a message what it said about calls that waited. */
export const NOBODY_ASKED = { pendingToolApprovals: null, suspendedTools: null } as const;

const NOT_APPROVED = "The user did not approve this call.";

function outcomeUnknown({ toolName }: ToolCallPayload): ToolOutcome {
  const message = `The process ended while tool "${toolName}" was working, so it is unknown whether the call took effect. It was not run again. Find out before you call it again.`;
  return { kind: "result", isError: true, result: { error: true, code: "tool-outcome-unknown", message } };
}

async function deny(run: Run, step: StepBuilder, call: ToolCallPayload, reason: string): Promise<void> {
  const { toolCallId, toolName, args } = call;
  const approval = { id: toolCallId, approved: false as const, reason };
  step.updateCall(toolCallId, { state: "output-denied", approval, ...(await transcript(run, call)) });
  await run.emit(agentChunk("tool-output-denied", run.spec.runId, { toolCallId, toolName, args, approval }));
}

/** Of a step without calls. */
export const NO_CALLS: ToolCallsOutcome = {
  answered: false,
  client: false,
  suspended: false,
  metadata: undefined,
};

async function answer(
  run: Run,
  step: StepBuilder,
  call: ToolCallPayload,
  outcome: Extract<ToolOutcome, { kind: "result" | "error" }>,
): Promise<void> {
  const { runId } = run.spec;
  const { toolCallId, toolName, args } = call;
  const failed = outcome.kind === "error" || outcome.isError === true;
  const errorCode = outcome.kind === "error" ? toolErrorCode(outcome.error) : undefined;
  // Those who look on from outside get to know no more than that it failed, and which call it was.
  if (outcome.kind === "error" && outcome.error instanceof Error && !AgentError.is(outcome.error))
    run.spec.logger.warn(`Tool "${toolName}" failed (call ${toolCallId} of run ${runId}):`, outcome.error);
  const raw =
    outcome.kind === "error"
      ? limitResult(errorMessage(outcome.error), run.spec.limits.toolResultBytes, toolName)
      : outcome.result;
  const result = run.pipeline.seesToolResults
    ? await run.pipeline.toolResult({ toolCallId, toolName, args, result: raw, isError: failed })
    : raw;
  const invocation: Partial<ToolInvocation> = {
    state: outcome.kind === "error" ? "output-error" : "result",
    result,
  };
  if (failed) invocation.isError = true;
  if (errorCode) invocation.errorCode = errorCode;
  if (outcome.kind === "result" && outcome.modelOutput !== undefined)
    invocation.modelOutput = outcome.modelOutput;
  if (run.spec.transform) Object.assign(invocation, await transcript(run, call, { outcome, result }));
  step.updateCall(toolCallId, invocation);
  const told = run.emit(
    outcome.kind === "error"
      ? agentChunk("tool-error", runId, {
          toolCallId,
          toolName,
          args,
          // A processor's words take the place of the error's.
          error: result === raw ? outcome.error : result,
        })
      : agentChunk("tool-result", runId, {
          toolCallId,
          toolName,
          args,
          result,
          ...(failed && { isError: true }),
        }),
  );
  if (told instanceof Promise) await told;
}

/** What the stored message shows a person in the place of the raw payloads. */
async function transcript(
  run: Run,
  call: ToolCallPayload,
  answer?: { outcome: ToolOutcome; result?: unknown },
): Promise<Pick<ToolInvocation, "transcript"> | undefined> {
  const { transform } = run.spec;
  if (!transform) return undefined;
  const base = {
    target: "transcript",
    toolName: call.toolName,
    toolCallId: call.toolCallId,
    input: call.args,
  } as const;
  const input = await transform.apply({ ...base, phase: "input-available" });
  const output = await transcriptOutput(transform, base, answer);
  if (!input && !output) return undefined;
  return { transcript: { ...(input && { args: input.value }), ...output } };
}

async function transcriptOutput(
  transform: PayloadTransform,
  base: Pick<TransformContext, "target" | "toolName" | "toolCallId" | "input">,
  answer: { outcome: ToolOutcome; result?: unknown } | undefined,
): Promise<ToolInvocation["transcript"]> {
  const { outcome, result } = answer ?? {};
  if (outcome?.kind === "suspended") {
    const shown = await transform.apply({ ...base, phase: "suspend", suspendPayload: outcome.payload });
    return shown && { suspendPayload: shown.value };
  }
  if (outcome?.kind !== "error" && outcome?.kind !== "result") return undefined;
  const shown = await transform.apply(
    outcome.kind === "error"
      ? { ...base, phase: "error", error: outcome.error }
      : { ...base, phase: "output-available", output: result },
  );
  return shown && { result: shown.value };
}

function toolContext(
  run: Run,
  tools: ToolSet,
  activeTools: readonly string[] | undefined,
  objections: unknown[],
  earlier: ReadonlyMap<string, JournaledCall>,
): ToolRunContext {
  const { spec } = run;
  return {
    agentId: spec.agent.id,
    tools,
    activeTools,
    requireApproval: spec.options.requireToolApproval,
    requestContext: spec.requestContext,
    mastra: spec.mastra,
    threadId: spec.threadId,
    resourceId: spec.resourceId,
    runId: spec.runId,
    messages: () => spec.list.get.all.db(),
    abortSignal: run.controller.signal,
    limits: spec.limits,
    system: spec.system,
    threadState: threadStateOf(spec),
    writer: (call) => new RunToolWriter(run, call, objections),
    answered: earlier.size === 0 ? NOBODY : answersIn(earlier),
  };
}

function threadStateOf({ storage, threadId, journal }: RunSpec): ToolThreadState | undefined {
  if (!storage || threadId === undefined || !journal) return undefined;
  const domain = async () => (await storage.getStore("threadState"))!;
  return {
    get: async (type) => (await (await domain()).getState({ threadId, type }))?.value,
    update: async (type, change) => (await (await domain()).updateState({ threadId, type }, change)).value,
  };
}

type Answers = ToolRunContext["answered"];
const NOBODY: Answers = new Map();

function answersIn(earlier: ReadonlyMap<string, JournaledCall>): Answers {
  const answered = new Map<string, { resumeData?: unknown }>();
  for (const { toolCallId, state, decision, requiresApproval } of earlier.values()) {
    if (state === "decided" && decision?.approved)
      // A tool that asked gets an answer, so that it can tell that it was asked for.
      answered.set(toolCallId, {
        resumeData: decision.resumeData ?? (requiresApproval ? undefined : { approved: true }),
      });
    // It ran before the crash, so it was allowed to.
    else if (state === "started") answered.set(toolCallId, { resumeData: decision?.resumeData });
  }
  return answered;
}

/** A processor that objects to what a tool writes objects to the step, whether the tool waits for its writes or not. */
class RunToolWriter implements ToolWriter {
  readonly #run: Run;
  readonly #call: ToolCallPayload;
  readonly #objections: unknown[];
  #writes = 0;

  constructor(run: Run, call: ToolCallPayload, objections: unknown[]) {
    this.#run = run;
    this.#call = call;
    this.#objections = objections;
  }

  readonly write = (value: unknown): Promise<void> =>
    this.#written(() => {
      const { toolCallId, toolName } = this.#call;
      const output = this.#run.limitWritten(value, toolName);
      return this.#run.emit(
        agentChunk("tool-output", this.#run.spec.runId, { toolCallId, toolName, output }),
      );
    });

  readonly custom: ToolWriter["custom"] = (chunk) => this.#written(() => this.#run.custom(chunk));

  #written(emit: () => unknown): Promise<void> {
    const written = this.#write(emit);
    // Not every tool waits for what it writes.
    written.catch(() => {});
    return written;
  }

  async #write(emit: () => unknown): Promise<void> {
    let full: unknown;
    try {
      await emit();
    } catch (thrown) {
      if (!this.#objections.includes(thrown)) this.#objections.push(thrown);
      if (AgentError.is(thrown, "limit-exceeded")) full = thrown;
    }
    // A tool that only writes would keep timers from running, and with them its own limit.
    if (full !== undefined || ++this.#writes % WRITES_PER_TURN === 0) await sleep(this.#run.spec.system, 0);
    if (full !== undefined) throw full;
  }
}

const WRITES_PER_TURN = 64;

function toOpenCall(call: ToolCallPayload, outcome: ToolOutcome, tools: ToolSet): OpenCall {
  const schema = tools.get(call.toolName)?.definition.resumeSchema;
  const approval = outcome.kind === "approval";
  return {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    args: call.args,
    requiresApproval: approval,
    resumeSchema: JSON.stringify(approval ? APPROVAL_SCHEMA : schema ? compileSchema(schema).jsonSchema : {}),
    ...(outcome.kind === "suspended" && { suspendPayload: outcome.payload }),
    ...(outcome.kind === "approval" && outcome.reason !== undefined && { reason: outcome.reason }),
  };
}

const APPROVAL_SCHEMA = {
  type: "object",
  properties: { approved: { type: "boolean" }, reason: { type: "string" } },
  required: ["approved"],
};

function waitingMetadata(
  run: Run,
  step: StepBuilder,
  waiting: OpenCall[],
  asked: boolean,
): Record<string, unknown> | undefined {
  const nothing = asked ? NOBODY_ASKED : undefined;
  if (waiting.length === 0) return nothing;
  const { runId } = run.spec;
  // People read this: they see the payloads as the transcript shows them.
  const shown = (call: OpenCall) => ({
    ...call,
    ...step.invocation(call.toolCallId)?.transcript,
    runId,
  });
  const byId = (calls: OpenCall[]) => Object.fromEntries(calls.map((call) => [call.toolCallId, shown(call)]));
  const approvals = waiting.filter((call) => call.requiresApproval);
  const suspended = waiting.filter((call) => !call.requiresApproval);
  return {
    ...nothing,
    ...(approvals.length > 0 && { pendingToolApprovals: byId(approvals) }),
    ...(suspended.length > 0 && { suspendedTools: byId(suspended) }),
  };
}

/** Puts the waiting calls on the stream. To be called once the step is stored: nobody may answer what is not there yet. */
export async function announceOpenCalls(run: Run): Promise<void> {
  for (const {
    toolCallId,
    toolName,
    args,
    resumeSchema,
    suspendPayload,
    requiresApproval,
    reason,
  } of run.openCalls) {
    const payload = { toolCallId, toolName, args, resumeSchema };
    await run.emit(
      requiresApproval
        ? agentChunk("tool-call-approval", run.spec.runId, {
            ...payload,
            ...(reason !== undefined && { reason }),
          })
        : agentChunk("tool-call-suspended", run.spec.runId, { ...payload, suspendPayload }),
    );
  }
}

function concurrency(run: Run): number {
  const asked = run.spec.options.toolCallConcurrency;
  return (typeof asked === "object" ? asked.limit : asked) ?? DEFAULT_CONCURRENCY;
}

/** Works through the items, at most `limit` at a time. */
function inParallel<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item) => Promise<void>,
): Promise<unknown> {
  if (items.length === 1) return work(items[0]!);
  const rest = items[Symbol.iterator]();
  const worker = async () => {
    for (const item of rest) await work(item);
  };
  return Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
}

function execute(
  run: Run,
  ready: Parameters<typeof executeTool>[0],
  context: ToolRunContext,
): Promise<ToolOutcome> {
  const { telemetry } = run.spec;
  return telemetry
    ? traced(run, telemetry, ready.call, () => executeTool(ready, context))
    : executeTool(ready, context);
}

async function traced(
  run: Run,
  telemetry: Telemetry,
  call: ToolCallPayload,
  work: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const span = telemetry.start(
    `execute_tool ${call.toolName}`,
    {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": call.toolName,
      "gen_ai.tool.call.id": call.toolCallId,
      ...(telemetry.recordInputs && { "gen_ai.tool.call.arguments": call.args }),
    },
    run.span,
  );
  try {
    const outcome = await work();
    if (outcome.kind === "error") span.fail(outcome.error);
    else if (outcome.kind === "result" && !run.pipeline.seesToolResults)
      span.setOutput({ "gen_ai.tool.call.result": outcome.result });
    return outcome;
  } finally {
    span.end();
  }
}
