import { AgentError } from "@selvedge/core";
import {
  compileSchema,
  createTool,
  type JsonSchema,
  type Schema,
  type Tool,
  type ToolExecutionOptions,
} from "@selvedge/core/tools";
import { ProtocolError } from "@modelcontextprotocol/server";
import { requireDescription } from "./require-description.ts";
import type { WorkflowLike } from "./server-config.ts";

/** What a run rests with, as far as a client may see it. */
interface RunResult {
  status: string;
  result?: unknown;
  suspended?: string[][];
  steps?: Record<string, { suspendPayload?: unknown }>;
  tripwire?: { reason: string };
}

/** A call of a run: its events, and what it rests with. */
interface RunStream extends AsyncIterable<unknown> {
  result: Promise<RunResult>;
}

interface RunLike {
  readonly runId?: string;
  start(options: { inputData: unknown }): Promise<RunResult>;
  stream?(options: { inputData: unknown }): RunStream;
  resumeStream?(options: { step: string[]; resumeData: unknown }): RunStream;
  cancel?(): Promise<unknown>;
}

interface WorkflowWithSteps extends WorkflowLike {
  stepAt?(path: readonly string[]): { resumeSchema?: Schema | undefined } | undefined;
}

/**
 * Exposes a workflow as a tool with the workflow's input and result. Steps are reported as progress. A step that suspends
 * asks the person behind the client, if the client can; otherwise the result names the run and the step.
 */
export function workflowTool(key: string, workflow: WorkflowWithSteps): Tool {
  const description = requireDescription("Workflow", key, workflow.description);
  const inputSchema = (workflow.inputSchema ?? { type: "object" }) as JsonSchema;
  return createTool({
    id: `run_${key}`,
    description: `Run workflow '${key}'. Workflow description: ${description}`,
    inputSchema,
    execute: async ({ context }, options) => {
      const run = (await (workflow.createRun ?? workflow.createRunAsync)?.call(
        workflow,
        ownerIn(options),
      )) as RunLike | undefined;
      if (!run)
        throw new AgentError(
          "invalid-argument",
          `Workflow "${key}" has no createRun() and cannot be run over MCP.`,
        );
      const cancel = (): void => void run.cancel?.().catch(() => {});
      options.abortSignal.addEventListener("abort", cancel, { once: true });
      try {
        return await carryOut(key, workflow, run, context, options);
      } finally {
        options.abortSignal.removeEventListener("abort", cancel);
      }
    },
  }) as Tool;
}

/** The run belongs to the user that the token or the host names: no one else can read or resume it over HTTP. */
function ownerIn({ extra }: ToolExecutionOptions): { resourceId?: string } {
  const { authInfo } = (extra ?? {}) as { authInfo?: { extra?: { sub?: unknown } } };
  const sub = authInfo?.extra?.sub;
  return typeof sub === "string" && sub !== "" ? { resourceId: sub } : {};
}

async function carryOut(
  key: string,
  workflow: WorkflowWithSteps,
  run: RunLike,
  inputData: unknown,
  options: ToolExecutionOptions,
): Promise<object> {
  let result = run.stream ? await follow(run.stream({ inputData }), options) : await run.start({ inputData });
  while (result.status === "suspended" && run.resumeStream) {
    const step = result.suspended?.[0];
    const answer = step && (await askPerson(key, workflow, step, result, options));
    if (!answer) break;
    result = await follow(run.resumeStream({ step, resumeData: answer.content }), options);
  }
  return toOutput(key, run, result);
}

/** What the person said; nothing if there is no one to ask, or they do not want to answer. */
async function askPerson(
  key: string,
  workflow: WorkflowWithSteps,
  step: string[],
  { steps }: RunResult,
  { abortSignal, elicitation, extra }: ToolExecutionOptions,
): Promise<{ content: unknown } | undefined> {
  const { clientCapabilities } = (extra ?? {}) as { clientCapabilities?: Record<string, unknown> };
  const requestedSchema = formOf(workflow.stepAt?.(step)?.resumeSchema);
  if (clientCapabilities?.["elicitation"] === undefined || !requestedSchema) return undefined;
  const name = step.join(".");
  const message = `${key}, ${name}: ${questionOf(steps?.[name]?.suspendPayload)}`;
  try {
    const { action, content } = await elicitation.sendRequest({ message, requestedSchema });
    return action === "accept" ? { content: content as unknown } : undefined;
  } catch (error) {
    // A client may announce that it can ask, and have no one to ask. The run waits for another answer.
    if (abortSignal.aborted || !ProtocolError.isInstance(error)) throw error;
    return undefined;
  }
}

const PLAIN: ReadonlySet<unknown> = new Set(["string", "number", "integer", "boolean"]);

/** A schema as a form. A client can ask for plain values by name, and for nothing deeper. */
function formOf(schema: Schema | undefined): Record<string, unknown> | undefined {
  if (!schema) return { type: "object", properties: {} };
  const {
    type,
    properties = {},
    required,
  } = compileSchema(schema).jsonSchema as {
    type?: unknown;
    properties?: Record<string, { type?: unknown }>;
    required?: string[];
  };
  const isPlain = Object.values(properties).every((property) => PLAIN.has(property.type));
  return type === "object" && isPlain ? { type, properties, ...(required && { required }) } : undefined;
}

const MAX_QUESTION = 2000;

function questionOf(payload: unknown): string {
  const { message, question, reason } = Object(payload) as Record<string, unknown>;
  const text = [payload, message, question, reason].find((value) => typeof value === "string");
  const shown = (text as string | undefined) ?? JSON.stringify(payload) ?? "An answer is needed.";
  return shown.slice(0, MAX_QUESTION).toWellFormed();
}

function toOutput(key: string, { runId }: RunLike, result: RunResult): object {
  const { status, result: value, suspended, steps, tripwire } = result;
  const run = runId === undefined ? {} : { runId };
  if (status === "success") return { status, result: value, ...run };
  if (status === "suspended")
    return {
      status,
      ...run,
      suspended,
      suspendPayload: steps?.[suspended?.[0]?.join(".") ?? ""]?.suspendPayload,
      message: `Workflow "${key}" waits at ${suspended?.map((path) => path.join(".")).join(", ")}. Resume run "${runId}" to continue it.`,
    };
  // The errors of steps are for the log: they contain text of tools and services.
  return {
    status,
    ...run,
    error: tripwire?.reason ?? `Workflow "${key}" ended with the status "${status}".`,
  };
}

/** Tells the client which steps begin and end, until the run rests. */
async function follow(stream: RunStream, { writer }: ToolExecutionOptions): Promise<RunResult> {
  for await (const chunk of stream) {
    const status = statusIn(chunk as { type: string; payload?: { id?: string; status?: string } });
    if (status !== undefined) await writer.write(status);
  }
  return stream.result;
}

function statusIn({
  type,
  payload,
}: {
  type: string;
  payload?: { id?: string; status?: string };
}): string | undefined {
  if (type === "workflow-step-start") return `${payload?.id}: running`;
  if (type === "workflow-step-result") return `${payload?.id}: ${payload?.status}`;
  return type === "workflow-step-suspended" ? `${payload?.id}: suspended` : undefined;
}
