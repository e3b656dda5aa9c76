import type { WorkflowResumeLabel, WorkflowStepResult } from "@selvedge/protocol";
import type { StepRecord } from "./journal.ts";
import { parsePath, type Path } from "./path.ts";

/** In paths of steps that are not at the top, repeated, a choice, or oddly named. */
const SPECIAL = /[/[?%]/;

/** The name of a step for people: the ids that lead to it. */
export function labelOf(path: Path): string {
  if (!SPECIAL.test(path)) return path;
  return parsePath(path)
    .map(({ id }) => id)
    .join(".");
}

/** The last item or iteration in a path. */
function indexOf(path: Path): number | undefined {
  return parsePath(path).findLast(({ index }) => index !== undefined)?.index;
}

const isChoice = (path: Path): boolean => path.startsWith("?") || path.includes("/?");

interface ForeachParts {
  count: number;
  plan: StepRecord;
  /** Items that are steps, or nested workflows that are done. */
  own: StepRecord[];
  /** Steps of items that are nested workflows. */
  inside: StepRecord[];
}

/** Results by step id. The steps of a nested workflow are `<workflow>.<step>`; a `foreach` has a list of outputs. */
export function stepResults(records: readonly StepRecord[]): Record<string, WorkflowStepResult> {
  // Ids may be names such as "__proto__".
  const results = new Map<string, WorkflowStepResult>();
  const lists = new Map<Path, ForeachParts>();
  /** The place that the result of a nested workflow is about: in a loop, its newest iteration. */
  const about = new Map<string, Path>();
  const closed = new Set<Path>();
  for (const record of records) {
    const { path } = record;
    if (isChoice(path)) {
      const { count } = (record.output?.data ?? {}) as { count?: number };
      if (count !== undefined) lists.set(path.replace("?", ""), { count, plan: record, own: [], inside: [] });
      continue;
    }
    const label = labelOf(path);
    results.set(label, toResult(record));
    about.set(label, path);
    if (record.status === "success") closed.add(path);
    lists.get(listOf(path))?.own.push(record);
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const outer = path.slice(0, end);
      lists.get(listOf(outer))?.inside.push(record);
      if (closed.has(outer)) continue;
      const name = labelOf(outer);
      const known = about.get(name) === outer ? results.get(name) : undefined;
      results.set(name, outerResult(known ?? begun(lists, record, end), record));
      about.set(name, outer);
    }
  }
  for (const [base, parts] of lists) results.set(labelOf(base), foreachResult(parts));
  return Object.fromEntries(results);
}

/** A nested workflow as its first step shows it: that has its input. */
function begun(
  lists: ReadonlyMap<Path, ForeachParts>,
  { path, input, startedAt }: StepRecord,
  end: number,
): WorkflowStepResult {
  const item = path.indexOf("[", end);
  const plan = item < 0 ? undefined : lists.get(path.slice(0, item))?.plan;
  return { status: "running", payload: (plan?.input ?? input)?.data, startedAt };
}

/** The place of the `foreach` that a path is an item of. */
function listOf(path: Path): Path {
  return path.endsWith("]") ? path.slice(0, path.lastIndexOf("[")) : "";
}

function toResult(record: StepRecord): WorkflowStepResult {
  const { status, input, output, error, suspend, resume, tripwire, metadata } = record;
  const { startedAt, endedAt, suspendedAt, resumedAt, attempt } = record;
  const result: Record<string, unknown> = {
    status: status === "resumed" || status === "ready" ? "running" : status,
    payload: input?.data,
  };
  if (output) result["output"] = output.data;
  if (status === "failed") result["error"] = error;
  result["startedAt"] = startedAt;
  if (endedAt !== undefined) result["endedAt"] = endedAt;
  if (attempt > 1) result["attempt"] = attempt;
  if (suspend) result["suspendPayload"] = suspend.payload;
  if (suspendedAt !== undefined) result["suspendedAt"] = suspendedAt;
  if (resume) result["resumePayload"] = resume.payload;
  if (resumedAt !== undefined) result["resumedAt"] = resumedAt;
  if (tripwire) result["tripwire"] = tripwire;
  if (metadata) result["metadata"] = metadata;
  return result as unknown as WorkflowStepResult;
}

/** A nested workflow that is not done is what its steps are: failed, suspended, waiting or running. */
function outerResult(known: WorkflowStepResult, inner: StepRecord): WorkflowStepResult {
  const rank = ["running", "waiting", "suspended", "failed"] as const;
  const own = inner.status === "failed" || inner.status === "suspended" || inner.status === "waiting";
  const status = own ? (inner.status as (typeof rank)[number]) : "running";
  const before = known.status as (typeof rank)[number];
  const shown = rank.indexOf(status) > rank.indexOf(before) ? status : before;
  return {
    ...known,
    status: shown,
    ...(inner.status === "suspended" && {
      suspendPayload: inner.suspend?.payload,
      suspendedAt: inner.suspendedAt,
    }),
    ...(inner.status === "failed" && { error: inner.error, endedAt: inner.endedAt }),
  } as WorkflowStepResult;
}

function foreachResult({ count, plan, own, inside }: ForeachParts): WorkflowStepResult {
  const outputs: unknown[] = Array.from({ length: count });
  for (const { path, output } of own) outputs[indexOf(path)!] = output?.data;
  const find = (status: StepRecord["status"]) =>
    own.find((record) => record.status === status) ?? inside.find((record) => record.status === status);
  const payload: unknown = plan.input?.data;
  const base = { payload, startedAt: plan.startedAt, output: outputs };
  const unfinished = find("failed") ?? find("suspended");
  const bailed = own.some((record) => record.bailed);
  const isDone = own.length === count && own.every(({ status }) => status === "success");
  if (isDone || bailed) {
    const endedAt = own.reduce((last, record) => Math.max(last, record.endedAt ?? 0), plan.startedAt);
    return { ...base, status: "success", endedAt };
  }
  if (unfinished) return { ...toResult(unfinished), ...base } as WorkflowStepResult;
  return { ...base, status: "running" };
}

export interface SuspendedStep {
  path: Path;
  label: string;
  /** The item of the innermost `foreach` around it. */
  forEachIndex: number | undefined;
  record: StepRecord;
}

export function suspendedSteps(records: readonly StepRecord[]): SuspendedStep[] {
  const suspended = records.filter(({ status }) => status === "suspended");
  if (suspended.length === 0) return [];
  const choices = new Set(records.filter(({ path }) => isChoice(path)).map(({ path }) => path));
  return suspended.map((record) => {
    const { path } = record;
    const forEachIndex = itemIndex(path, choices);
    return { path, label: labelOf(path), forEachIndex, record };
  });
}

/** An iteration of a loop has an index too, but only a `foreach` has a choice without one. */
function itemIndex(path: Path, choices: ReadonlySet<Path>): number | undefined {
  const parts = path.split("/");
  for (let last = parts.length - 1; last >= 0; last--) {
    const prefix = parts.slice(0, last).map((part) => `${part}/`);
    const part = parts[last]!;
    if (part.endsWith("]") && choices.has(`${prefix.join("")}?${listOf(part)}`)) return indexOf(part);
  }
  return undefined;
}

export function resumeLabels(records: readonly StepRecord[]): Record<string, WorkflowResumeLabel> {
  const labels = new Map<string, WorkflowResumeLabel>();
  for (const { label: stepId, forEachIndex, record } of suspendedSteps(records))
    for (const label of record.labels ?? [])
      labels.set(label, { stepId, ...(forEachIndex !== undefined && { forEachIndex }) });
  return Object.fromEntries(labels);
}

/** The steps in the order in which they were executed. */
export function executionPath(records: readonly StepRecord[]): string[] {
  return records.filter(({ path }) => !isChoice(path)).map(({ path }) => labelOf(path));
}
