import type { Usage } from "@selvedge/protocol";
import type { RunTimeline, TimelineStep, TimelineTool } from "@selvedge/protocol/routes";
import { type ReactNode, useState } from "react";
import { formatDuration, formatNumber, formatValue } from "../format.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { Fact } from "../ui/fact.tsx";
import { Icon } from "../ui/icon.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { Time } from "../ui/time.tsx";

const LONG_TEXT = 240;
const SHORTEST = 0.006;
/** Below this the marks would all read the same. */
const RULED_MS = 20;

const TOOL_TONE: Record<TimelineTool["state"], Tone | undefined> = {
  running: "indigo",
  waiting: "amber",
  done: "green",
  failed: "red",
  denied: undefined,
};

/** The marks above the bars, as parts of the run. */
const RULER: readonly number[] = [0, 0.25, 0.5, 0.75, 1];

const NO_STEPS = {
  gone: "The events of this run are no longer stored, so its steps cannot be shown.",
  soon: "The first step has not started.",
  none: "The run ended before its first step.",
};

export function RunTimelineView({ run }: { run: RunTimeline }): ReactNode {
  const start = new Date(run.startedAt).getTime();
  const end = endOf(run, start);
  const span = Math.max(1, end - start);
  return (
    <section className="card panel stack" aria-label={`Run ${run.runId}`}>
      <div className="row run-head">
        <h2 className="section-title">Run</h2>
        <span className="mono small muted truncate">{run.runId}</span>
        <CopyButton label="Copy the id of this run" text={() => run.runId} />
        <span className="grow" />
        <RunBadge state={run.state} />
      </div>
      <dl className="facts">
        <Fact name="Agent">{run.agentId}</Fact>
        <Fact name="Started">
          <Time at={run.startedAt} />
        </Fact>
        <Fact name="Took">{formatDuration(end - start)}</Fact>
        <Fact name="Steps">{run.steps}</Fact>
        <Fact name="Tokens in">{formatNumber(tokens(run, "inputTokens"))}</Fact>
        <Fact name="Tokens out">{formatNumber(tokens(run, "outputTokens"))}</Fact>
      </dl>
      {run.error && (
        <p className="note" data-tone="red">
          {formatValue(run.error["message"] ?? run.error)}
        </p>
      )}
      {run.timeline.length === 0 ? (
        <p className="note">{NO_STEPS[whyNoSteps(run)]}</p>
      ) : (
        <ol className="timeline">
          {span >= RULED_MS && (
            <li className="ruler" aria-hidden="true">
              {RULER.map((part) => (
                <span key={part}>{formatDuration(part * span)}</span>
              ))}
            </li>
          )}
          {run.timeline.map((step) => (
            <Step key={step.step} step={step} start={start} span={span} />
          ))}
        </ol>
      )}
    </section>
  );
}

function whyNoSteps(run: RunTimeline): keyof typeof NO_STEPS {
  if (run.steps > 0) return "gone";
  return run.state === "running" ? "soon" : "none";
}

function endOf(run: RunTimeline, start: number): number {
  const times = [run.endedAt, run.suspendedAt].filter((time) => time !== undefined);
  if (times.length > 0 && run.state !== "running")
    return Math.max(...times.map((time) => new Date(time).getTime()));
  const ends = run.timeline.map((step) => new Date(step.startedAt).getTime() + (step.durationMs ?? 0));
  return Math.max(start, ...ends);
}

/** Of the steps that are kept, or what the run wrote down when they are gone. */
function tokens(run: RunTimeline, which: "inputTokens" | "outputTokens"): number {
  if (run.timeline.length === 0) return run.usage?.[which] ?? 0;
  return run.timeline.reduce((sum, step) => sum + (step.usage?.[which] ?? 0), 0);
}

function Step({ step, start, span }: { step: TimelineStep; start: number; span: number }): ReactNode {
  const offset = new Date(step.startedAt).getTime() - start;
  const length = step.durationMs ?? span - offset;
  return (
    <li className="timeline-step">
      <div className="row">
        <strong className="small">Step {step.step + 1}</strong>
        {step.finishReason && <Badge>{step.finishReason}</Badge>}
        <span className="grow" />
        {step.usage && <span className="hint">{usageText(step.usage)}</span>}
        <span className="mono small">
          {step.durationMs === undefined ? "…" : formatDuration(step.durationMs)}
        </span>
      </div>
      {step.activations && (
        <p className="row timeline-tool">
          <Icon name="memory" />
          <span className="small grow">{activationText(step.activations)}</span>
        </p>
      )}
      <div className="bar-track" aria-hidden="true">
        <div className="bar" style={place(offset / span, length / span)} />
      </div>
      {step.text && <StepText text={step.text} />}
      {step.toolCalls.map((tool) => (
        <div className="row timeline-tool" key={tool.toolCallId}>
          <Icon name="tool" />
          <span className="mono small grow truncate">{tool.toolName}</span>
          <Badge tone={TOOL_TONE[tool.state]}>{tool.state}</Badge>
          {tool.durationMs !== undefined && (
            <span className="mono small">{formatDuration(tool.durationMs)}</span>
          )}
        </div>
      ))}
    </li>
  );
}

function usageText({ inputTokens = 0, outputTokens = 0, cachedInputTokens }: Usage): string {
  const cached =
    cachedInputTokens !== undefined && inputTokens > 0
      ? ` (${Math.round((cachedInputTokens / inputTokens) * 100)} % cached)`
      : "";
  return `${formatNumber(inputTokens)} in${cached}, ${formatNumber(outputTokens)} out`;
}

/** What observational memory changed in the prompt before the step. */
function activationText(activations: NonNullable<TimelineStep["activations"]>): string {
  const removed = activations.reduce((sum, { removedTokens }) => sum + removedTokens, 0);
  const added = activations.reduce((sum, { addedTokens }) => sum + addedTokens, 0);
  const what = activations.every(({ kind }) => kind === "reflection") ? "notes" : "messages";
  return `Notes of ${formatNumber(added)} tokens replaced ${formatNumber(removed)} tokens of ${what}.`;
}

/** What the model wrote; a long text opens at a click. */
function StepText({ text }: { text: string }): ReactNode {
  const [open, setOpen] = useState(false);
  if (text.length < LONG_TEXT) return <p className="small timeline-text">{text}</p>;
  return (
    <div>
      <p className="small timeline-text">{open ? text : `${text.slice(0, LONG_TEXT).trimEnd()} …`}</p>
      <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? "Show less" : "Show all"}
      </button>
    </div>
  );
}

/** Where a bar stands in its track. The shortest can still be seen, also at the end. */
function place(start: number, length: number): { left: string; width: string } {
  const width = Math.max(SHORTEST, Math.min(1, length));
  const left = Math.max(0, Math.min(1 - width, start));
  return { left: percent(left), width: percent(width) };
}

function percent(part: number): string {
  return `${(part * 100).toFixed(2)}%`;
}
