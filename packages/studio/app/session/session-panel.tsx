import type { UseAgentControllerResult } from "@selvedge/react";
import type { ReactNode } from "react";
import { formatNumber } from "../format.ts";
import { MemoryPanel } from "../memory/memory-panel.tsx";
import type { ThreadMemory } from "../memory/use-memory.ts";
import { Section } from "../ui/section.tsx";
import { Permissions } from "./permissions.tsx";
import { SessionThreads } from "./session-threads.tsx";
import { TaskList } from "./task-list.tsx";

/** What a session has besides its conversation. */
export function SessionPanel({
  open,
  live,
  memory,
}: {
  open: boolean;
  live: UseAgentControllerResult;
  memory: ThreadMemory;
}): ReactNode {
  const { tasks, tokenUsage } = live.display;
  const left = tasks.filter(({ status }) => status !== "completed").length;
  const { promptTokens, completionTokens, totalTokens, cachedInputTokens } = tokenUsage;
  return (
    <aside className="inspector" id="inspector" aria-label="Session details" hidden={!open}>
      <Section icon="tasks" title="Tasks" count={left} nothing={tasks.length === 0 ? "none" : undefined}>
        <TaskList tasks={tasks} />
      </Section>
      <MemoryPanel memory={memory} />
      <Section icon="lock" title="Permissions">
        <Permissions live={live} />
      </Section>
      <Section icon="run" title="Tokens" nothing={totalTokens === 0 ? "none used" : undefined}>
        <dl className="facts" data-testid="tokens">
          <Fact name="in" value={promptTokens} />
          <Fact name="out" value={completionTokens} />
          {cachedInputTokens ? <Fact name="cached" value={cachedInputTokens} /> : null}
          <Fact name="total" value={totalTokens} />
        </dl>
      </Section>
      <Section icon="thread" title="Threads">
        <SessionThreads live={live} />
      </Section>
    </aside>
  );
}

function Fact({ name, value }: { name: string; value: number }): ReactNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{formatNumber(value)}</dd>
    </div>
  );
}
