import type { ObservationJob, ObservationalMemoryView } from "@selvedge/protocol/routes";
import { type ReactNode, useEffect, useState } from "react";
import { formatNumber } from "../format.ts";
import { useActions } from "../thread/actions.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Section } from "../ui/section.tsx";
import { Failure } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { Generations } from "./generations.tsx";
import { MemoryChunk } from "./memory-chunk.tsx";
import type { ThreadMemory } from "./use-memory.ts";

const JOB_NAME = { observe: "Observation", reflect: "Reflection", renew: "Observation again" } as const;

/** What observational memory knows of a thread, and what it is doing. */
export function MemoryPanel({ memory }: { memory: ThreadMemory }): ReactNode {
  const { view, error } = memory;
  const nothing = view === null ? "off" : view === undefined && !error ? "empty" : undefined;
  return (
    <Section icon="memory" title="Memory" count={view?.chunks.length ?? 0} nothing={nothing}>
      {error && <Failure error={error} />}
      {view && <Contents memory={memory} view={view} />}
    </Section>
  );
}

function Contents({ memory, view }: { memory: ThreadMemory; view: ObservationalMemoryView }): ReactNode {
  const { chunks, jobs, windows, leftOut, generation, models } = view;
  const buffered = chunks.filter(({ state }) => state === "buffered");
  const ready = buffered.reduce((sum, { messageTokens }) => sum + messageTokens, 0);
  const log = chunks.filter(({ state }) => state === "active");
  return (
    <div className="stack" data-testid="memory">
      <TokenWindow name="Messages" {...windows.messages} ready={ready} />
      <TokenWindow name="Notes" {...windows.observations} />
      {leftOut > 0 && (
        <p className="note" data-tone="amber">
          {leftOut} older messages are not in the prompt: there are no notes on them yet.
        </p>
      )}
      {jobs.map((job) => (
        <Job key={job.id} job={job} memory={memory} />
      ))}
      {chunks.length === 0 ? (
        <p className="hint">No notes yet. They are written as the messages fill their window.</p>
      ) : (
        <ol className="stack memory-log" aria-label="Notes">
          {log.map((chunk) => (
            <MemoryChunk key={chunk.id} chunk={chunk} memory={memory} />
          ))}
          {buffered.map((chunk) => (
            <MemoryChunk key={chunk.id} chunk={chunk} memory={memory} />
          ))}
        </ol>
      )}
      {generation > 0 && <Generations memory={memory} count={generation} />}
      <p className="hint">
        {models.observer === models.reflector ? (
          <>
            Observer and reflector: <span className="mono">{models.observer}</span>.
          </>
        ) : (
          <>
            Observer: <span className="mono">{models.observer}</span>. Reflector:{" "}
            <span className="mono">{models.reflector}</span>.
          </>
        )}
        {view.scope === "resource" && " All threads of this resource share the notes."}
      </p>
      <MemoryActions memory={memory} isShared={view.scope === "resource"} isEmpty={chunks.length === 0} />
    </div>
  );
}

/** How full a window is. The part that notes already cover looks different. */
function TokenWindow({
  name,
  tokens,
  threshold,
  ready = 0,
}: {
  name: string;
  tokens: number;
  threshold: number;
  ready?: number;
}): ReactNode {
  const width = (part: number): string => `${Math.min(100, (part / threshold) * 100).toFixed(1)}%`;
  const text = `${formatNumber(tokens)} of ${formatNumber(threshold)} tokens`;
  return (
    <div>
      <div className="row memory-window">
        <span className="small grow">{name}</span>
        <span className="hint">{text}</span>
      </div>
      <div
        className="bar-track"
        role="meter"
        aria-label={name}
        aria-valuenow={tokens}
        aria-valuemin={0}
        aria-valuemax={Math.max(tokens, threshold)}
        aria-valuetext={text}
      >
        <div className="bar" style={{ width: width(tokens) }} />
        {ready > 0 && <div className="bar" data-ready="" style={{ width: width(Math.min(ready, tokens)) }} />}
      </div>
      {ready > 0 && (
        <p className="hint">
          Notes on {formatNumber(ready)} tokens are ready. They replace the messages when the window is full.
        </p>
      )}
    </div>
  );
}

function Job({ job, memory }: { job: ObservationJob; memory: ThreadMemory }): ReactNode {
  const { attempt } = useActions();
  const name = JOB_NAME[job.kind];
  if (job.state === "running")
    return (
      <div className="row lane" role="status" data-testid="memory-job">
        <Badge tone="indigo" pulse>
          {job.kind === "observe" ? "observing" : "reflecting"}
        </Badge>
        <span className="hint grow">{formatNumber(job.tokens)} tokens</span>
        {job.startedAt && <Elapsed since={job.startedAt} />}
      </div>
    );
  if (job.error === undefined)
    return (
      <div className="row lane" data-testid="memory-job">
        <Badge>waiting</Badge>
        <span className="hint grow">
          {name} of {formatNumber(job.tokens)} tokens
        </span>
      </div>
    );
  return (
    <div className="note stack memory-failure" data-tone="red" role="alert" data-testid="memory-job">
      <p>
        {name} failed: {job.error}
      </p>
      <div className="row">
        <span className="hint grow">
          {job.state === "failed" ? (
            "Retried with the next observation"
          ) : (
            <>
              Attempt {job.attempt + 1} at <Time at={job.dueAt} />
            </>
          )}
        </span>
        <Button size="small" onClick={() => void attempt(memory.retry)}>
          Retry now
        </Button>
      </div>
    </div>
  );
}

/** The seconds since a time, counting. */
function Elapsed({ since }: { since: string }): ReactNode {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1000);
    return () => clearInterval(timer);
  }, []);
  return <span className="hint">{Math.max(0, Math.floor((now - Date.parse(since)) / 1000))} s</span>;
}

function MemoryActions({
  memory,
  isShared,
  isEmpty,
}: {
  memory: ThreadMemory;
  isShared: boolean;
  isEmpty: boolean;
}): ReactNode {
  const { attempt } = useActions();
  const [isBusy, setBusy] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const act = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    await attempt(work);
    setBusy(false);
    setAsking(false);
  };
  if (isAsking)
    return (
      <div className="stack" role="group" aria-label="Forget the notes?">
        <p className="small">
          {isShared ? "The notes on all threads of this resource" : "All notes on this thread"} are deleted.
          The messages stay and are observed again.
        </p>
        <div className="row">
          <Button
            kind="danger"
            size="small"
            autoFocus
            disabled={isBusy}
            onClick={() => void act(memory.forget)}
          >
            Forget the notes
          </Button>
          <Button kind="quiet" size="small" onClick={() => setAsking(false)}>
            Keep them
          </Button>
        </div>
      </div>
    );
  return (
    <div className="row">
      <Button size="small" disabled={isBusy} onClick={() => void act(memory.observe)}>
        {isBusy ? "Observing …" : "Observe now"}
      </Button>
      <Button kind="danger" size="small" disabled={isBusy || isEmpty} onClick={() => setAsking(true)}>
        Forget
      </Button>
    </div>
  );
}
