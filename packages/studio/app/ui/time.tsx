import { type ReactNode, useEffect, useState } from "react";
import { formatAgo, formatTime, formatWhole } from "../format.ts";

export function Time({ at, ago }: { at: string; ago?: boolean }): ReactNode {
  useTick(ago === true);
  return (
    <time dateTime={at} title={formatWhole(at)}>
      {ago ? formatAgo(at) : formatTime(at)}
    </time>
  );
}

/** Draws again now and then, so that "2 minutes ago" stays true. */
function useTick(on: boolean): void {
  const [, setCount] = useState(0);
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => setCount((count) => count + 1), 30_000);
    return () => clearInterval(timer);
  }, [on]);
}
