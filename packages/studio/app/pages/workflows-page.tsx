import type { WorkflowInfo } from "@selvedge/protocol/routes";
import { type ReactNode, useEffect, useState } from "react";
import { Link } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Icon } from "../ui/icon.tsx";
import { Badge } from "../ui/badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";
import { workflowPath } from "../workflow/workflow-path.ts";

const REFRESH_MS = 3000;

interface Counts {
  running: number;
  suspended: number;
}

/** Every workflow of the server, with how many runs are under way. */
export function WorkflowsPage(): ReactNode {
  const { client } = useStudio();
  const [search, setSearch] = useState("");
  const workflows = useLoad("workflows", (signal) => client.call("listWorkflows", { signal }));
  const counts = useLoad("run counts", (signal) => client.call("listWorkflowRunCounts", { signal }));
  const { reload } = counts;
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  const wanted = search.trim().toLowerCase();
  const all = Object.entries(workflows.value ?? {});
  const found = all.filter(([key, { id, name, description = "" }]) =>
    [key, id, name, description].some((text) => text.toLowerCase().includes(wanted)),
  );
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Workflows</h1>
          <p>Steps that survive restarts, with the number of active runs</p>
        </div>
      </div>
      {workflows.error && <Failure error={workflows.error} onRetry={workflows.reload} />}
      {!workflows.value && workflows.loading && <Loading what="workflows" />}
      {workflows.value && all.length === 0 && (
        <Empty title="No workflows">
          <p>
            Register one: <code>new Mastra({"{ workflows: { … } }"})</code>
          </p>
        </Empty>
      )}
      {all.length > 0 && (
        <>
          <div className="search" role="search">
            <Icon name="search" />
            <input
              className="input"
              type="search"
              aria-label="Search workflows"
              placeholder="Search names and descriptions"
              value={search}
              onChange={(event) => setSearch(event.target.value)}
            />
          </div>
          {found.length === 0 && <p className="muted small">No workflow contains “{search.trim()}”.</p>}
          <ul className="cards" aria-label="Workflows">
            {found.map(([key, info]) => (
              <li key={key}>
                <WorkflowCard workflowKey={key} info={info} counts={counts.value?.[key]} />
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function WorkflowCard({
  workflowKey,
  info,
  counts,
}: {
  workflowKey: string;
  info: WorkflowInfo;
  counts: Counts | undefined;
}): ReactNode {
  const steps = Object.keys(info.steps).length;
  const { running = 0, suspended = 0 } = counts ?? {};
  return (
    <article className="card agent-card wf-card">
      <div className="row">
        <span className="agent-mark">
          <Icon name="workflow" />
        </span>
        <div className="grow">
          <h2 className="truncate">
            <Link href={workflowPath(workflowKey)}>{info.name}</Link>
          </h2>
          <p className="hint">{steps === 1 ? "1 step" : `${steps} steps`}</p>
        </div>
      </div>
      {info.description && <p className="small muted">{info.description}</p>}
      <p className="row card-foot">
        {running > 0 && (
          <Link className="wf-count" href={workflowPath(workflowKey, { status: "running" })}>
            <Badge tone="indigo" pulse>
              {running} running
            </Badge>
          </Link>
        )}
        {suspended > 0 && (
          <Link className="wf-count" href={workflowPath(workflowKey, { status: "suspended" })}>
            <Badge tone="amber">
              <Icon name="person" />
              {suspended} waiting for you
            </Badge>
          </Link>
        )}
        {running + suspended === 0 && <span className="hint">no active runs</span>}
      </p>
    </article>
  );
}
