import { WORKFLOW_RUN_STATUSES, type WorkflowRunStatus } from "@selvedge/protocol";
import type { WireWorkflowRun } from "@selvedge/protocol/routes";
import { type ReactNode, useEffect, useState } from "react";
import { Link, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDelete } from "../ui/confirm-delete.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { WorkflowRunBadge } from "./status-badge.tsx";
import { hasEnded, RUN_LOOK } from "./step-state.ts";
import { runPath, workflowPath } from "./workflow-path.ts";

const PAGE_SIZE = 20;
const REFRESH_MS = 2000;
/** States that a list of runs is asked for. */
const FILTERS = WORKFLOW_RUN_STATUSES.filter((status) => status !== "skipped" && status !== "bailed");

/** The runs of a workflow, newest first, by status, owner and date. */
export function RunList({ workflowId }: { workflowId: string }): ReactNode {
  const { client, resourceId, token } = useStudio();
  const { query, go } = useRouter();
  const status = FILTERS.find((each) => each === query.get("status"));
  const [isOwn, setOwn] = useState(false);
  const [from, setFrom] = useState("");
  const [to, setTo] = useState("");
  const [page, setPage] = useState(0);
  const owner = isOwn ? resourceId : undefined;
  const runs = useLoad(`runs ${owner} ${workflowId} ${status} ${from} ${to} ${page}`, (signal) =>
    client.call("listWorkflowRuns", {
      params: { workflowId },
      query: {
        page,
        perPage: PAGE_SIZE,
        ...(owner !== undefined && { resourceId: owner }),
        ...(status && { status }),
        ...(from && { fromDate: startOf(from) }),
        ...(to && { toDate: startOf(to, 1) }),
      },
      signal,
    }),
  );
  const { value, reload } = runs;
  const isLive = value?.runs.some((run) => !hasEnded(run.status)) ?? false;
  useEffect(() => {
    if (!isLive) return;
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [isLive, reload]);
  const isFiltered = isOwn || status !== undefined || from !== "" || to !== "";
  const filter = (next: WorkflowRunStatus | ""): void => {
    setPage(0);
    go(workflowPath(workflowId, { ...(next && { status: next }) }), { replace: true });
  };
  return (
    <section className="stack" aria-labelledby="runs-title">
      <h2 className="section-title" id="runs-title">
        Runs
      </h2>
      <div className="row">
        <select
          className="input fit"
          aria-label="Status of the runs"
          value={status ?? ""}
          onChange={(event) => filter(event.target.value as WorkflowRunStatus | "")}
        >
          <option value="">any status</option>
          {FILTERS.map((each) => (
            <option key={each} value={each}>
              {RUN_LOOK[each].text}
            </option>
          ))}
        </select>
        {token === undefined && (
          <select
            className="input fit"
            aria-label="Owner of the runs"
            value={isOwn ? "own" : ""}
            onChange={(event) => (setPage(0), setOwn(event.target.value === "own"))}
          >
            <option value="">of anyone</option>
            <option value="own">of {resourceId}</option>
          </select>
        )}
        <div className="row">
          <DateFilter label="From" value={from} onChange={(next) => (setPage(0), setFrom(next))} />
          <DateFilter label="To" value={to} onChange={(next) => (setPage(0), setTo(next))} />
        </div>
      </div>
      {runs.error && <Failure error={runs.error} onRetry={reload} />}
      {!value && runs.loading && <Loading what="runs" />}
      {value && value.runs.length === 0 && (
        <Empty title={isFiltered ? "No such runs" : "No runs yet"}>
          {!isFiltered && <p>Start one. It survives restarts of the server, and every tab shows it live.</p>}
        </Empty>
      )}
      {value && value.runs.length > 0 && (
        <ul className="card thread-list" aria-label="Runs">
          {value.runs.map((run) => (
            <RunItem key={run.runId} run={run} workflowId={workflowId} onDeleted={reload} />
          ))}
        </ul>
      )}
      {value && (page > 0 || value.total > PAGE_SIZE) && (
        <nav className="row pager" aria-label="Pages of runs">
          <Button size="small" disabled={page === 0} onClick={() => setPage(page - 1)}>
            Newer
          </Button>
          <span className="muted small">
            {page * PAGE_SIZE + 1}–{page * PAGE_SIZE + value.runs.length} of {value.total}
          </span>
          <Button
            size="small"
            disabled={(page + 1) * PAGE_SIZE >= value.total}
            onClick={() => setPage(page + 1)}
          >
            Older
          </Button>
        </nav>
      )}
    </section>
  );
}

function DateFilter({
  label,
  value,
  onChange,
}: {
  label: string;
  value: string;
  onChange(value: string): void;
}): ReactNode {
  return (
    <label className="row hint wf-date">
      {label}
      <input
        className="input fit"
        type="date"
        value={value}
        onChange={(event) => onChange(event.target.value)}
      />
    </label>
  );
}

function RunItem({
  run,
  workflowId,
  onDeleted,
}: {
  run: WireWorkflowRun;
  workflowId: string;
  onDeleted(): void;
}): ReactNode {
  const { client, resourceId } = useStudio();
  return (
    <li className="thread-item">
      <Link className="thread-link" href={runPath(workflowId, run.runId)}>
        <span className="row">
          <WorkflowRunBadge status={run.status} />
          <span className="muted small">
            <Time at={run.createdAt} ago />
            {run.resourceId !== undefined && run.resourceId !== resourceId && ` · ${run.resourceId}`}
          </span>
        </span>
        <span className="truncate mono muted thread-id">{run.runId}</span>
      </Link>
      {hasEnded(run.status) && (
        <ConfirmDelete
          label={`Delete run ${run.runId}`}
          onDelete={async () => {
            await client.getWorkflow(workflowId).deleteRunById(run.runId);
            onDeleted();
          }}
        />
      )}
    </li>
  );
}

/** The beginning of a day here, or of one after it. */
function startOf(day: string, after = 0): string {
  const date = new Date(`${day}T00:00`);
  date.setDate(date.getDate() + after);
  return date.toISOString();
}
