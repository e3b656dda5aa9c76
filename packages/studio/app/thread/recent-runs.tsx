import type { RunInfo } from "@selvedge/protocol/routes";
import type { UseThreadResult as Thread } from "@selvedge/react";
import type { ReactNode } from "react";
import { formatRun } from "../format.ts";
import { Link, path } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { useLoad } from "../use-load.ts";

const SHOWN = 3;

/** The run under way and the ones before it, with what they took. */
export function RecentRuns({
  run,
  agentId,
  threadId,
}: {
  run: Thread["run"];
  agentId: string;
  threadId: string;
}): ReactNode {
  const { client, resourceId } = useStudio();
  // Looked up again whenever a run begins, waits or ends. What was known stays meanwhile.
  const past = useLoad(
    `${threadId} ${agentId}`,
    async (signal): Promise<RunInfo[]> => {
      try {
        const query = { resourceId, agentId, perPage: SHOWN };
        return (await client.call("listRuns", { params: { threadId }, query, signal })).runs;
      } catch (error) {
        if ((error as { code?: string }).code === "not-found") return [];
        throw error;
      }
    },
    `${run?.runId} ${run?.state}`,
  );
  const known = past.value ?? [];
  const listed = known.some(({ runId }) => runId === run?.runId);
  return (
    <div data-testid="runs" data-run={run?.state ?? "idle"}>
      {run === undefined && <p className="hint">Idle. A message wakes the agent.</p>}
      <ul className="run-list">
        {run && !listed && (
          <RunItem
            href={path(["threads", threadId, "runs", run.runId], { agent: agentId })}
            state={run.state}
          />
        )}
        {known.map((info) => (
          <RunItem
            key={info.runId}
            href={path(["threads", threadId, "runs", info.runId], { agent: agentId })}
            state={info.runId === run?.runId ? run.state : info.state}
            about={info.state === "running" ? undefined : formatRun(info)}
          />
        ))}
      </ul>
    </div>
  );
}

function RunItem({
  href,
  state,
  about = "in progress",
}: {
  href: string;
  state: RunInfo["state"];
  about?: string | undefined;
}): ReactNode {
  return (
    <li>
      <Link href={href}>
        <span className="grow truncate">{about}</span>
        <RunBadge state={state} />
      </Link>
    </li>
  );
}
