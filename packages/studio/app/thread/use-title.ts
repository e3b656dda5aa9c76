import { useEffect, useState } from "react";
import { useStudio } from "../studio-context.tsx";

const FIRST_PAUSE_MS = 500;
/** With doubled pauses, the last request comes after a minute: no model is given longer to write a title. */
const PAUSES = 7;

/** The thread's title. A model may write it after the first run, so a thread without one is requested again. */
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
    const ask = async (pauses: number): Promise<void> => {
      const query = { resourceId, ...(agentId !== undefined && { agentId }) };
      const thread = await client.call("getThread", { params: { threadId }, query, signal });
      if (signal.aborted) return;
      if (thread.title) return setTitle(thread.title);
      if (pauses === PAUSES) return;
      await new Promise((resolve) => setTimeout(resolve, FIRST_PAUSE_MS * 2 ** pauses));
      if (!signal.aborted) await ask(pauses + 1);
    };
    // A page without its title is still the page.
    ask(0).catch(() => undefined);
    return () => controller.abort();
  }, [client, resourceId, agentId, threadId, spoken, running, title]);
  return [title, setTitle];
}
