import { type ReactNode, useState } from "react";
import { newThreadPath } from "../new-thread.ts";
import { useRouter } from "../router.tsx";
import { useAgents } from "../use-agents.ts";
import { Button } from "./button.tsx";

/** Opens a thread with an agent; asks with which one when there are several. */
export function NewThreadButton(): ReactNode {
  const { go } = useRouter();
  const agents = useAgents().value ?? [];
  const talking = agents.filter((agent) => agent.hasMemory);
  const [chosen, setChosen] = useState("");
  const agent = talking.find(({ id }) => id === chosen) ?? talking[0];
  return (
    <div className="row">
      {talking.length > 1 && (
        <select
          className="input fit"
          aria-label="Agent of the new thread"
          value={agent?.id}
          onChange={(event) => setChosen(event.target.value)}
        >
          {talking.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
      <Button
        kind="primary"
        icon="plus"
        disabled={!agent}
        onClick={() => agent && go(newThreadPath(agent.id), { fresh: true })}
      >
        New thread
      </Button>
    </div>
  );
}
