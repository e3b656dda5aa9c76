import type { ReactNode } from "react";
import { Link, path, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useAgents } from "../use-agents.ts";
import { useLoad } from "../use-load.ts";
import { type RunnableTool, ToolRunner } from "./tool-runner.tsx";

/** Every tool of the server, and a form to run the chosen one. */
export function ToolsPage({ toolId }: { toolId?: string }): ReactNode {
  const { client } = useStudio();
  const { query } = useRouter();
  const agents = useAgents();
  const hosts = useLoad("tools", (signal) => client.call("listTools", { signal }));
  const tools = toTools(agents.value, hosts.value);
  const agentId = query.get("agent") ?? undefined;
  const named = tools.filter(({ tool }) => tool.id === toolId);
  const chosen =
    named.find((entry) => agentId === undefined || entry.agentId === agentId) ?? named[0] ?? tools[0];
  const error = agents.error ?? hosts.error;
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Tools</h1>
          <p>Run a tool by hand, with the same checks as a call by an agent</p>
        </div>
      </div>
      {error && <Failure error={error} />}
      {!agents.value && agents.loading && <Loading what="tools" />}
      {agents.value && hosts.value && tools.length === 0 && (
        <Empty title="No tools">
          <p>Tools of agents and of the host appear here.</p>
        </Empty>
      )}
      {chosen && (
        <div className="split">
          <nav aria-label="Tools">
            <ul className="nav tool-nav">
              {tools.map((entry) => (
                <li key={`${entry.agentId} ${entry.key}`}>
                  <Link
                    href={path(["tools", entry.tool.id], { agent: entry.agentId })}
                    aria-current={entry === chosen ? "page" : undefined}
                  >
                    <span className="grow truncate">
                      {entry.tool.id}
                      <span className="hint block truncate">{entry.owner}</span>
                    </span>
                    {entry.tool.requireApproval && <Badge tone="amber">approval</Badge>}
                  </Link>
                </li>
              ))}
            </ul>
          </nav>
          <ToolRunner key={`${chosen.agentId} ${chosen.key}`} entry={chosen} />
        </div>
      )}
    </div>
  );
}

function toTools(
  agents: ReturnType<typeof useAgents>["value"] = [],
  host: Record<string, RunnableTool["tool"]> = {},
): RunnableTool[] {
  const ofAgents = agents.flatMap((agent) =>
    Object.entries(agent.tools).map(([key, tool]) => ({ key, tool, agentId: agent.id, owner: agent.name })),
  );
  const owned = new Set(ofAgents.map(({ tool }) => tool.id));
  const ofHost = Object.entries(host)
    .filter(([, tool]) => !owned.has(tool.id))
    .map(([key, tool]) => ({ key, tool, agentId: undefined, owner: "host" }));
  return [...ofAgents, ...ofHost];
}
