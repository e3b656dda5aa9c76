import type { SerializedStep, SerializedStepEntry, SerializedStepGraph } from "@selvedge/protocol";
import { formatDuration, formatTime } from "../format.ts";

/** What a step was made from. */
type StepKind = "step" | "agent" | "tool" | "processor" | "map" | "workflow";

/** Something that a run has a result of. `key` is its name among the results: ids, joined by dots where workflows nest. */
export interface OutlineStep {
  kind: "step";
  key: string;
  label: string;
  of: StepKind;
  description?: string;
  /** Executed for each item of a list. */
  perItem?: true;
  /** The steps of a nested workflow. */
  steps?: Outline;
}

export interface OutlineSleep {
  kind: "sleep";
  key: string;
  label: string;
}

interface OutlineMember {
  step: OutlineStep;
  /** When a branch takes this way, if the reader may know. */
  condition?: string;
}

/** Steps that start together: all of them, or those whose condition is true. */
export interface OutlineGroup {
  kind: "parallel" | "branch";
  key: string;
  label: string;
  members: OutlineMember[];
}

/** A step that is executed several times. */
export interface OutlineRepeat {
  kind: "loop" | "foreach";
  key: string;
  label: string;
  step: OutlineStep;
}

export type OutlineNode = OutlineStep | OutlineSleep | OutlineGroup | OutlineRepeat;

/** A workflow for people, in order. The graph and the list are drawn from it. */
export type Outline = readonly OutlineNode[];

const KINDS: Readonly<Record<NonNullable<SerializedStep["component"]>, StepKind>> = {
  WORKFLOW: "workflow",
  AGENT: "agent",
  TOOL: "tool",
  PROCESSOR: "processor",
  MAP: "map",
};
const MAX_CONDITION = 80;
/** An id that the builder made up. */
const MADE_UP = /^(?:mapping|sleep|sleep-until|sleepUntil)[-_][\w-]+$/;

export function toOutline(graph: SerializedStepGraph, prefix = ""): Outline {
  return graph.map((entry, index) => toNode(entry, prefix, `${prefix}#${index}`));
}

function toNode(entry: SerializedStepEntry, prefix: string, groupKey: string): OutlineNode {
  switch (entry.type) {
    case "step":
      return toStep(entry.step, prefix);
    case "sleep":
    case "sleepUntil":
      return { kind: "sleep", key: prefix + entry.id, label: sleepLabel(entry) };
    case "parallel": {
      const members = entry.steps.map(({ step }) => ({ step: toStep(step, prefix) }));
      return { kind: "parallel", key: groupKey, label: "in parallel", members };
    }
    case "conditional": {
      const members = entry.steps.map(({ step }, index) => {
        const condition = shortCondition(entry.serializedConditions[index]?.fn ?? "");
        return { step: toStep(step, prefix), ...(condition && { condition }) };
      });
      return { kind: "branch", key: groupKey, label: "branch", members };
    }
    case "loop": {
      const word = entry.loopType === "dowhile" ? "while" : "until";
      const condition = shortCondition(entry.serializedCondition.fn);
      const label = condition ? `repeat ${word} ${condition}` : `repeat ${word} a condition holds`;
      return { kind: "loop", key: groupKey, label, step: toStep(entry.step, prefix) };
    }
    case "foreach": {
      const { concurrency } = entry.opts;
      const label = `for each item${concurrency > 1 ? `, ${concurrency} at a time` : ", one by one"}`;
      return {
        kind: "foreach",
        key: groupKey,
        label,
        step: { ...toStep(entry.step, prefix), perItem: true },
      };
    }
  }
}

function toStep(step: SerializedStep, prefix: string): OutlineStep {
  const key = prefix + step.id;
  const of = step.serializedStepFlow ? "workflow" : step.component ? KINDS[step.component] : "step";
  return {
    kind: "step",
    key,
    label: of === "map" && MADE_UP.test(step.id) ? "map" : step.id,
    of,
    ...(step.description !== undefined && { description: step.description }),
    ...(step.serializedStepFlow && { steps: toOutline(step.serializedStepFlow, `${key}.`) }),
  };
}

/** A duration that was written down, without zeros at its end. */
function inFull(ms: number): string {
  return formatDuration(ms)
    .replace(/\.0+ s$/, " s")
    .replace(/ 0 (?:s|min|h)$/, "");
}

function sleepLabel(entry: Extract<SerializedStepEntry, { type: "sleep" | "sleepUntil" }>): string {
  if (entry.type === "sleep")
    return entry.duration === undefined ? "sleep" : `sleep ${inFull(entry.duration)}`;
  return entry.date === undefined
    ? "sleep until a date"
    : `sleep until ${formatTime(new Date(entry.date).toISOString())}`;
}

/** The part of a function's source that says when it is true: what follows the arrow, on one line. */
export function shortCondition(source: string): string {
  const line = source.replaceAll(/\s+/g, " ").trim();
  const body = /^(?:async )?(?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\w+) ?=> ?(.+)$/.exec(line)?.[1] ?? line;
  const returned = /^\{ ?return (.+?);? ?\}$/.exec(body)?.[1] ?? body;
  return returned.length > MAX_CONDITION ? `${returned.slice(0, MAX_CONDITION)}…` : returned;
}

/** The steps of a node itself, without those of nested workflows. */
export function stepsOf(node: OutlineNode): readonly (OutlineStep | OutlineSleep)[] {
  switch (node.kind) {
    case "step":
    case "sleep":
      return [node];
    case "parallel":
    case "branch":
      return node.members.map(({ step }) => step);
    default:
      return [node.step];
  }
}

/** Every step with the ones it contains, in order. */
export function* allStepsOf(outline: Outline): Generator<OutlineStep | OutlineSleep> {
  for (const node of outline) {
    for (const step of stepsOf(node)) {
      yield step;
      if (step.kind === "step" && step.steps) yield* allStepsOf(step.steps);
    }
  }
}

export function findStep(outline: Outline, key: string): OutlineStep | OutlineSleep | undefined {
  for (const step of allStepsOf(outline)) if (step.key === key) return step;
  return undefined;
}
