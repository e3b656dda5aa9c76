import type { CallResult } from "@selvedge/client-js";
import { type ReactNode, useEffect } from "react";
import { threadPath } from "../new-thread.ts";
import { Link } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { runPath } from "../workflow/workflow-path.ts";

const EVERY_MS = 3_000;

type Worker = CallResult<"listWorkers">["workers"][number];

/** The processes that carry out runs on the server's store. */
export function WorkersPage(): ReactNode {
  const { client } = useStudio();
  const { value, error, loading, reload } = useLoad("workers", (signal) =>
    client.call("listWorkers", { signal }),
  );
  useEffect(() => {
    const timer = setInterval(reload, EVERY_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Workers</h1>
          <p>The processes that execute runs, with their last heartbeat</p>
        </div>
      </div>
      {error && <Failure error={error} onRetry={reload} />}
      {!value && loading && <Loading what="workers" />}
      {value?.workers.length === 0 && (
        <Empty title="No workers">
          <p>A process appears here with its first run.</p>
        </Empty>
      )}
      <ul className="cards" aria-label="Workers">
        {value?.workers.map((worker) => (
          <WorkerCard key={worker.id} worker={worker} />
        ))}
      </ul>
    </div>
  );
}

function WorkerCard({ worker: { id, isSelf, lastBeat, runs, workflowRuns } }: { worker: Worker }): ReactNode {
  const count = runs.length + workflowRuns.length;
  return (
    <li className="card agent-card">
      <h2 className="mono truncate" title={id}>
        {id}
      </h2>
      <div className="row">
        {lastBeat === undefined ? (
          <Badge tone="red">gone</Badge>
        ) : count > 0 ? (
          <Badge tone="green" pulse>
            {count === 1 ? "1 run" : `${count} runs`}
          </Badge>
        ) : (
          <Badge>idle</Badge>
        )}
        {isSelf && <Badge tone="indigo">this server</Badge>}
        {lastBeat !== undefined && (
          <span className="muted small">
            last beat <Time at={lastBeat} ago />
          </span>
        )}
      </div>
      {count > 0 && (
        <ul className="small" aria-label={`Runs of ${id}`}>
          {runs.map(({ runId, agentId, threadId, resourceId }) => (
            <li key={runId} className="truncate">
              <Link href={threadPath(threadId, agentId)}>{threadId}</Link>{" "}
              <span className="muted">
                {agentId} for {resourceId}
              </span>
            </li>
          ))}
          {workflowRuns.map(({ runId, workflowId, resourceId }) => (
            <li key={runId} className="truncate">
              <Link href={runPath(workflowId, runId)}>{workflowId}</Link>{" "}
              <span className="muted">
                {resourceId !== undefined && `for ${resourceId} · `}
                {runId}
              </span>
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
