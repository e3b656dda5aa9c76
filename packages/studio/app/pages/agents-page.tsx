import type { ReactNode } from "react";
import { newThreadPath } from "../new-thread.ts";
import { Link, path } from "../router.tsx";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { type ListedAgent, useAgents } from "../use-agents.ts";

export function AgentsPage(): ReactNode {
  const agents = useAgents();
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Agents</h1>
          <p>The agents on this server</p>
        </div>
      </div>
      {agents.error && <Failure error={agents.error} onRetry={agents.reload} />}
      {!agents.value && agents.loading && <Loading what="agents" />}
      {agents.value?.length === 0 && (
        <Empty title="No agents">
          <p>
            Register one: <code>new Mastra({"{ agents: { … } }"})</code>
          </p>
        </Empty>
      )}
      <ul className="cards">
        {agents.value?.map((agent) => (
          <AgentCard key={agent.key} agent={agent} />
        ))}
      </ul>
    </div>
  );
}

function AgentCard({ agent }: { agent: ListedAgent }): ReactNode {
  const tools = Object.entries(agent.tools);
  const helpers = Object.values(agent.agents);
  return (
    <li className="card agent-card">
      <div className="row">
        <span className="agent-mark" aria-hidden="true">
          <Icon name="agent" />
        </span>
        <div className="grow">
          <h2 className="truncate">{agent.name}</h2>
          <p className="mono muted truncate">{agent.id}</p>
        </div>
      </div>
      {agent.description && <p className="small">{agent.description}</p>}
      <div className="row">
        {agent.modelId && (
          <Badge tone="indigo" title="Model">
            {agent.provider ? `${agent.provider} · ${agent.modelId}` : agent.modelId}
          </Badge>
        )}
        {agent.hasMemory ? <Badge tone="green">memory</Badge> : <Badge tone="amber">no memory</Badge>}
        {helpers.length > 0 && <Badge>{helpers.length} subagents</Badge>}
      </div>
      {tools.length > 0 && (
        <ul className="row tool-chips" aria-label={`Tools of ${agent.name}`}>
          {tools.map(([key, tool]) => (
            <li key={key}>
              <Link
                className="chip"
                href={path(["tools", tool.id], { agent: agent.id })}
                title={tool.description}
              >
                <Icon name="tool" />
                {tool.id}
                {tool.requireApproval && <span className="chip-mark">needs approval</span>}
              </Link>
            </li>
          ))}
        </ul>
      )}
      {agent.instructions && (
        <details className="small">
          <summary className="muted">Instructions</summary>
          <pre className="code">{agent.instructions}</pre>
        </details>
      )}
      <div className="card-foot">
        {agent.hasMemory ? (
          <Link className="button" data-kind="primary" href={newThreadPath(agent.id)} fresh>
            <Icon name="plus" />
            New thread
          </Link>
        ) : (
          <p className="hint">
            This agent has no memory, so it has no threads. Add a Memory to talk to it here.
          </p>
        )}
      </div>
    </li>
  );
}
