import type { StoredMessage } from "@selvedge/protocol";

export type TrajectoryStepType =
  | "tool_call"
  | "mcp_tool_call"
  | "model_generation"
  | "agent_run"
  | "workflow_run"
  | "workflow_step"
  | "workflow_conditional"
  | "workflow_parallel"
  | "workflow_loop"
  | "workflow_sleep"
  | "processor_run";

/** One thing that an agent or a workflow did. Its other fields depend on its kind. */
export interface TrajectoryStep {
  stepType: TrajectoryStepType;
  name: string;
  durationMs?: number;
  children?: TrajectoryStep[];
  toolArgs?: Record<string, unknown>;
  toolResult?: unknown;
  success?: boolean;
  [more: string]: unknown;
}

/** What an agent or a workflow did, in order. */
export interface Trajectory {
  steps: TrajectoryStep[];
  totalDurationMs?: number;
  rawOutput?: unknown;
}

/** A step that is expected. Fields that are left out match anything. */
export interface ExpectedStep {
  name: string;
  stepType?: TrajectoryStepType;
  toolArgs?: Record<string, unknown>;
  children?: readonly ExpectedStep[] | { steps: readonly ExpectedStep[] };
  [more: string]: unknown;
}

/** The tool calls in an agent's answer. */
export function extractTrajectory(messages: readonly StoredMessage[]): Trajectory {
  const steps = messages.flatMap(({ content }) =>
    content.parts.flatMap((part): TrajectoryStep[] => {
      if (part.type !== "tool-invocation") return [];
      const { toolName, args, result, state } = part.toolInvocation as {
        toolName: string;
        args: unknown;
        result?: unknown;
        state: string;
      };
      return [
        {
          stepType: "tool_call",
          name: toolName,
          toolArgs: (args ?? {}) as Record<string, unknown>,
          ...(result !== undefined && { toolResult: result }),
          success: state === "result" && !isFailure(result),
        },
      ];
    }),
  );
  return { steps, rawOutput: messages };
}

interface WorkflowStepResult {
  status: string;
  output?: unknown;
  error?: unknown;
  startedAt?: number;
  endedAt?: number;
}

/** The steps that a workflow ran: in the order of `path`, otherwise by the time they started. */
export function extractWorkflowTrajectory(
  stepResults: Readonly<Record<string, unknown>>,
  path?: readonly string[],
): Trajectory {
  const results = stepResults as Record<string, WorkflowStepResult>;
  const ids =
    path ??
    Object.keys(results)
      .filter((id) => id !== "input")
      .toSorted((a, b) => (results[a]?.startedAt ?? 0) - (results[b]?.startedAt ?? 0));
  const steps = ids.flatMap((id): TrajectoryStep[] => {
    const result = results[id];
    if (!result?.status) return [];
    const { status, output, startedAt, endedAt } = result;
    return [
      {
        stepType: "workflow_step",
        name: id,
        stepId: id,
        status,
        success: status === "success",
        ...(output !== undefined && { output }),
        ...(startedAt !== undefined && endedAt !== undefined && { durationMs: endedAt - startedAt }),
      },
    ];
  });
  const total = steps.reduce((sum, { durationMs = 0 }) => sum + durationMs, 0);
  return { steps, ...(total > 0 && { totalDurationMs: total }), rawOutput: stepResults };
}

/** A span as an exporter gets it. */
interface TraceSpan {
  id?: string;
  spanId?: string;
  parentSpanId?: string | null | undefined;
  name: string;
  type?: string;
  spanType?: string;
  entityName?: string;
  startTime?: Date | string | number;
  startedAt?: Date | string | number;
  endTime?: Date | string | number | null;
  endedAt?: Date | string | number | null;
  attributes?: Record<string, unknown> | null;
  input?: unknown;
  output?: unknown;
  errorInfo?: unknown;
  error?: unknown;
}

const STEP_TYPES: ReadonlySet<string> = new Set<TrajectoryStepType>([
  "tool_call",
  "mcp_tool_call",
  "model_generation",
  "agent_run",
  "workflow_run",
  "workflow_step",
  "workflow_conditional",
  "workflow_parallel",
  "workflow_loop",
  "workflow_sleep",
  "processor_run",
]);

/** What happened below a span, the root by default. Spans of other types are replaced by what is below them. */
export function extractTrajectoryFromTrace(spans: readonly TraceSpan[], rootSpanId?: string): Trajectory {
  const idOf = (span: TraceSpan) => span.spanId ?? span.id ?? "";
  const ids = new Set(spans.map(idOf));
  const isRoot = (span: TraceSpan) =>
    rootSpanId === undefined
      ? span.parentSpanId === undefined || span.parentSpanId === null || !ids.has(span.parentSpanId)
      : idOf(span) === rootSpanId;
  const root = spans.find(isRoot);
  if (!root) return { steps: [] };
  const below = (parent: TraceSpan): TrajectoryStep[] =>
    spans
      .filter((span) => span.parentSpanId === idOf(parent) && span !== parent)
      .toSorted((a, b) => startOf(a) - startOf(b))
      .flatMap((span) => toStep(span));
  const toStep = (span: TraceSpan): TrajectoryStep[] => {
    const stepType = span.spanType ?? span.type ?? "";
    const children = below(span);
    if (!STEP_TYPES.has(stepType)) return children;
    const isTool = stepType === "tool_call" || stepType === "mcp_tool_call";
    const durationMs = durationOf(span);
    return [
      {
        ...span.attributes,
        stepType: stepType as TrajectoryStepType,
        name: span.entityName ?? nameOf(span.name),
        ...(durationMs !== undefined && { durationMs }),
        ...(isTool && {
          toolArgs: (span.input ?? {}) as Record<string, unknown>,
          toolResult: span.output,
          success: (span.errorInfo ?? span.error ?? null) === null,
        }),
        ...(children.length > 0 && { children }),
      },
    ];
  };
  const totalDurationMs = durationOf(root);
  return { steps: below(root), ...(totalDurationMs !== undefined && { totalDurationMs }) };
}

/** `tool: 'weather'` and the like name what ran in quotes. */
function nameOf(name: string): string {
  return /'([^']+)'/.exec(name)?.[1] ?? name;
}

function startOf(span: TraceSpan): number {
  return new Date(span.startTime ?? span.startedAt ?? 0).getTime();
}

function durationOf(span: TraceSpan): number | undefined {
  const end = span.endTime ?? span.endedAt ?? undefined;
  return end === undefined ? undefined : new Date(end).getTime() - startOf(span);
}

function isFailure(result: unknown): boolean {
  return typeof result === "object" && result !== null && (result as { error?: unknown }).error === true;
}
