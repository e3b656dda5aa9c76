import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/state.tsx";
import { toError } from "../use-load.ts";

/** How far above the first message a reader may be when the ones before it are fetched. */
const AHEAD = "800px 0px 0px 0px";

/** Stands before the first message and fetches earlier ones when a reader comes near. A new one for each first message. */
export function Earlier({
  scroller,
  load,
}: {
  scroller: RefObject<HTMLElement | null>;
  load(): Promise<void>;
}): ReactNode {
  const mark = useRef<HTMLDivElement>(null);
  const [loading, setLoading] = useState(false);
  const [error, setError] = useState<Error>();
  const fetchMore = useRef(async () => {});
  fetchMore.current = async () => {
    if (loading) return;
    setLoading(true);
    setError(undefined);
    try {
      await load();
    } catch (failure) {
      setError(toError(failure));
    } finally {
      setLoading(false);
    }
  };
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
        observer.disconnect();
        void fetchMore.current();
      },
      { root: scroller.current, rootMargin: AHEAD },
    );
    observer.observe(mark.current!);
    return () => observer.disconnect();
  }, [scroller]);
  return (
    <div className="row earlier" ref={mark}>
      {error ? (
        <Failure error={error} onRetry={() => void fetchMore.current()} />
      ) : (
        <Button size="small" disabled={loading} onClick={() => void fetchMore.current()}>
          {loading ? "Loading earlier messages …" : "Show earlier messages"}
        </Button>
      )}
    </div>
  );
}
