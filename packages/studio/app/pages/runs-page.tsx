import { type ReactNode, useEffect } from "react";
import { formatRun } from "../format.ts";
import { threadPath } from "../new-thread.ts";
import { Link, path, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { RunTimelineView } from "./run-timeline.tsx";

const REFRESH_MS = 1500;
const SHOWN = 50;

/** The runs of a thread, and what happened in the chosen one, step by step. */
export function RunsPage({ threadId, runId }: { threadId: string; runId?: string }): ReactNode {
  const { query } = useRouter();
  const agentId = query.get("agent") ?? undefined;
  const { client, resourceId } = useStudio();
  const runs = useLoad(threadId, (signal) =>
    client.call("listRuns", {
      params: { threadId },
      query: { resourceId, perPage: SHOWN, ...(agentId && { agentId }) },
      signal,
    }),
  );
  const list = runs.value?.runs ?? [];
  const chosen = runId ?? list[0]?.runId;
  const timeline = useLoad(`${threadId} ${chosen}`, async (signal) =>
    chosen === undefined
      ? undefined
      : client.call("getRun", {
          params: { threadId, runId: chosen },
          query: { resourceId, ...(agentId && { agentId }) },
          signal,
        }),
  );
  const live = list.some(({ state }) => state === "running");
  const { reload: reloadRuns } = runs;
  const { reload: reloadTimeline } = timeline;
  useEffect(() => {
    if (!live) return;
    const timer = setInterval(() => {
      reloadRuns();
      reloadTimeline();
    }, REFRESH_MS);
    return () => clearInterval(timer);
  }, [live, reloadRuns, reloadTimeline]);

  return (
    <div className="page">
      <div className="page-head">
        <div className="grow">
          <h1>Runs</h1>
          <p className="truncate">
            of thread <Link href={threadPath(threadId, agentId)}>{threadId}</Link>
          </p>
        </div>
        <Link className="button" href={threadPath(threadId, agentId)}>
          Back to the thread
        </Link>
      </div>
      {runs.error && <Failure error={runs.error} onRetry={runs.reload} />}
      {!runs.value && runs.loading && <Loading what="runs" />}
      {runs.value && list.length === 0 && (
        <Empty title="No runs yet">
          <p>A run starts when a message is sent.</p>
        </Empty>
      )}
      {list.length > 0 && (
        <div className="split">
          <nav aria-label="Runs">
            <ol className="nav tool-nav">
              {list.map((run) => (
                <li key={run.runId}>
                  <Link
                    href={path(["threads", threadId, "runs", run.runId], { agent: agentId })}
                    aria-current={run.runId === chosen ? "page" : undefined}
                  >
                    <span className="grow truncate">
                      <Time at={run.startedAt} />
                      <span className="hint block truncate">{formatRun(run)}</span>
                    </span>
                    <RunBadge state={run.state} />
                  </Link>
                </li>
              ))}
            </ol>
          </nav>
          <div className="stack">
            {timeline.error && <Failure error={timeline.error} onRetry={timeline.reload} />}
            {timeline.value && <RunTimelineView run={timeline.value} />}
            {!timeline.value && timeline.loading && <Loading what="the run" />}
          </div>
        </div>
      )}
      {runs.value && runs.value.hasMore && (
        <p className="row pager">
          <Badge>the latest {SHOWN} are shown</Badge>
        </p>
      )}
    </div>
  );
}
