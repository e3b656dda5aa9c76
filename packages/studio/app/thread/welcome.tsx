import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";
import type { ListedAgent } from "../use-agents.ts";

/** What an empty thread says: who listens here, what it can do, and what a person can. */
export function Welcome({ agent }: { agent: ListedAgent }): ReactNode {
  const tools = Object.values(agent.tools);
  return (
    <div className="empty welcome">
      <span className="agent-mark" aria-hidden="true">
        <Icon name="agent" />
      </span>
      <strong>Talk to {agent.name}</strong>
      {agent.description && <p>{agent.description}</p>}
      {tools.length > 0 && (
        <ul className="row tool-chips" aria-label={`Tools of ${agent.name}`}>
          {tools.map((tool) => (
            <li className="chip" key={tool.id} title={tool.description}>
              <Icon name="tool" />
              {tool.id}
              {tool.requireApproval && <span className="chip-mark">needs approval</span>}
            </li>
          ))}
        </ul>
      )}
      <p>
        While it works you can keep writing: <em>steer</em> joins the active run, <em>queue</em> waits for its
        own turn. Open this page in a second tab and both show the same stream.
      </p>
    </div>
  );
}
