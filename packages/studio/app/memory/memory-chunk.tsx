import type { ObservationChunk } from "@selvedge/protocol/routes";
import { type ReactNode, useEffect, useRef } from "react";
import { formatNumber } from "../format.ts";
import { Link, path, useRouter } from "../router.tsx";
import { Badge } from "../ui/badge.tsx";
import { Time } from "../ui/time.tsx";
import { NoteText } from "./note-text.tsx";
import type { ThreadMemory } from "./use-memory.ts";

/** A piece of the notes, with the way to the messages it stands for. */
export function MemoryChunk({ chunk, memory }: { chunk: ObservationChunk; memory: ThreadMemory }): ReactNode {
  const { parts, query, visit } = useRouter();
  const isWanted = query.get("note") === chunk.id;
  const details = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    if (!isWanted) return;
    details.current!.open = true;
    details.current!.scrollIntoView({ block: "center" });
    details.current!.querySelector("summary")!.focus({ preventScroll: true });
  }, [isWanted, visit]);
  const isHere = chunk.threadId === memory.threadId;
  const place = isHere ? parts : ["threads", chunk.threadId];
  const to = (message: string): string => path(place, { agent: query.get("agent") ?? undefined, message });
  const { firstMessageId: first, lastMessageId: last } = chunk;
  return (
    <li data-testid="memory-chunk">
      <details className="lane" data-found={isWanted ? "" : undefined} ref={details}>
        <summary className="row">
          <span className="small grow truncate">{titleOf(chunk)}</span>
          {chunk.state === "buffered" ? (
            <Badge tone="green">ready</Badge>
          ) : (
            <Badge title="in the prompt">{formatNumber(chunk.tokens)} tokens</Badge>
          )}
        </summary>
        <pre className="code">
          <NoteText text={chunk.text || "Nothing worth noting."} />
        </pre>
        <p className="hint">
          Written <Time at={chunk.createdAt} ago />
          {chunk.messageTokens > 0 && <> from {formatNumber(chunk.messageTokens)} tokens of messages</>}.{" "}
          {first !== undefined && <Link href={to(first)}>First message</Link>}
          {last !== undefined && last !== first && (
            <>
              {" · "}
              <Link href={to(last)}>Last message</Link>
            </>
          )}
        </p>
      </details>
    </li>
  );
}

function titleOf({ kind, messageCount, text }: ObservationChunk): string {
  if (kind === "reflect") return "Rewritten notes";
  const line = text.split("\n").find((one) => /^[-*] /.test(one));
  const count = messageCount === 1 ? "1 message" : `${messageCount} messages`;
  // Without its mark and time.
  return line?.replace(/^[-* ]+(\p{Emoji_Presentation}\s*)?(\(?\d\d:\d\d\)?\s*)?/u, "") || count;
}
