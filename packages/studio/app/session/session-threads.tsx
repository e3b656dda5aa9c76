import type { UseAgentControllerResult } from "@selvedge/react";
import type { ReactNode } from "react";
import { useStudio } from "../studio-context.tsx";
import { useActions } from "../thread/actions.tsx";
import { Button } from "../ui/button.tsx";
import { useLoad } from "../use-load.ts";

const SHOWN = 12;

/** The threads that the session can go to. All its windows go along. */
export function SessionThreads({
  live: { session, threadId, display },
}: {
  live: UseAgentControllerResult;
}): ReactNode {
  const { attempt } = useActions();
  // A thread's title may be written after its run.
  const { threadsVersion } = useStudio();
  const version = `${threadId} ${display.isRunning} ${threadsVersion}`;
  const threads = useLoad("threads", () => session.thread.list(), version);
  const shown = (threads.value ?? []).slice(0, SHOWN);
  return (
    <>
      <div className="row">
        <Button size="small" icon="plus" onClick={() => void attempt(() => session.thread.create())}>
          New thread
        </Button>
        <Button size="small" icon="copy" onClick={() => void attempt(() => session.thread.clone())}>
          Copy this one
        </Button>
      </div>
      <ul className="nav" aria-label="Threads of this session">
        {shown.map(({ id, title }) => (
          <li key={id}>
            <button
              type="button"
              className="nav-button truncate"
              aria-current={id === threadId ? "true" : undefined}
              onClick={() => void attempt(() => session.thread.switch({ threadId: id, abort: false }))}
            >
              {title || "Untitled"}
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
