import { type RefObject, useEffect, useRef } from "react";
import { useRouter } from "../router.tsx";
import type { Thread } from "./thread.ts";

/** Pages of earlier messages that are fetched to find one. */
const MAX_PAGES = 50;

/** Goes to the message that the address names, and marks it; fetches earlier ones until it is there. `onFound` comes first. */
export function useFoundMessage(
  thread: Thread,
  scroller: RefObject<HTMLElement | null>,
  onFound: () => void,
): void {
  const { query, visit } = useRouter();
  const wanted = query.get("message");
  const settled = useRef<number>(undefined);
  const pages = useRef(0);
  const { messages, hasMore, status, loadEarlier } = thread;
  useEffect(() => {
    if (wanted === null || status !== "ready" || settled.current === visit) return;
    const row = scroller.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(wanted)}"]`);
    if (row) {
      settled.current = visit;
      onFound();
      for (const before of scroller.current!.querySelectorAll<HTMLElement>("[data-found]"))
        delete before.dataset["found"];
      row.dataset["found"] = "";
      row.scrollIntoView({ block: "center" });
    } else if (hasMore && pages.current++ < MAX_PAGES) {
      loadEarlier().catch(() => (settled.current = visit));
    } else settled.current = visit;
  }, [wanted, visit, status, messages, hasMore, loadEarlier, scroller, onFound]);
}
