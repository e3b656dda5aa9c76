import { useEffect, useState } from "react";
import { useStudio } from "../studio-context.tsx";

const TITLE_TRIES = 5;
const TITLE_MS = 600;

/** The thread's title. A model may write it after the first run, so a thread without one is asked a few times. */
export function useTitle(
  threadId: string,
  agentId: string | undefined,
  spoken: boolean,
  running: boolean,
): [title: string | undefined, setTitle: (title: string) => void] {
  const { client, resourceId } = useStudio();
  const [title, setTitle] = useState<string>();
  useEffect(() => {
    if (!spoken || running || title !== undefined) return;
    const controller = new AbortController();
    const { signal } = controller;
    const ask = async (triesLeft: number): Promise<void> => {
      const query = { resourceId, ...(agentId !== undefined && { agentId }) };
      const thread = await client.call("getThread", { params: { threadId }, query, signal });
      if (signal.aborted) return;
      if (thread.title) return setTitle(thread.title);
      if (triesLeft === 0) return;
      await new Promise((resolve) => setTimeout(resolve, TITLE_MS));
      if (!signal.aborted) await ask(triesLeft - 1);
    };
    // A page without its title is still the page.
    ask(TITLE_TRIES).catch(() => undefined);
    return () => controller.abort();
  }, [client, resourceId, agentId, threadId, spoken, running, title]);
  return [title, setTitle];
}
