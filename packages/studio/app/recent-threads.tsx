import type { ReactNode } from "react";
import { formatTime } from "./format.ts";
import { newThreadPath, threadPath } from "./new-thread.ts";
import { Link, useRouter } from "./router.tsx";
import { useStudio } from "./studio-context.tsx";
import { Icon } from "./ui/icon.tsx";
import { useAgents } from "./use-agents.ts";
import { useLoad } from "./use-load.ts";

const SHOWN = 12;

/** The latest threads, one click away from every page. */
export function RecentThreads(): ReactNode {
  const { client, resourceId, threadsVersion } = useStudio();
  const { parts, query } = useRouter();
  const open = parts[0] === "threads" ? parts[1] : undefined;
  const agents = useAgents();
  const threads = useLoad(
    `recent ${resourceId}`,
    (signal) => client.call("listThreads", { query: { resourceId, page: 0, perPage: SHOWN }, signal }),
    threadsVersion,
  );
  const talking = agents.value?.filter(({ hasMemory }) => hasMemory) ?? [];
  // The one that is being talked to, else the first.
  const agent = talking.find(({ id }) => id === query.get("agent")) ?? talking[0];
  const shown = threads.value?.threads ?? [];
  return (
    <nav className="recent" aria-label="Recent threads">
      <div className="row recent-head">
        <h2 className="nav-heading grow">Recent</h2>
        {agent && (
          <Link
            className="button"
            data-kind="quiet"
            data-size="small"
            data-icon=""
            fresh
            href={newThreadPath(agent.id)}
            aria-label={`New thread with ${agent.name}`}
            title={`New thread with ${agent.name}`}
          >
            <Icon name="plus" />
          </Link>
        )}
      </div>
      <ul className="nav">
        {shown.map((thread) => (
          <li key={thread.id}>
            <Link
              href={threadPath(thread.id, undefined)}
              aria-current={thread.id === open ? "page" : undefined}
              title={thread.title || thread.id}
            >
              <span className="truncate">{thread.title || `Untitled, ${formatTime(thread.createdAt)}`}</span>
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
