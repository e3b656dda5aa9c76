import type { WireMessage } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { Link, path } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";

const SHOWN = 20;
const AROUND = 80;

/** Messages that contain what was searched for, in all threads of the person. */
export function MessageHits({ search }: { search: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const hits = useLoad(`${resourceId} ${search}`, (signal) =>
    client.call("searchMemory", { query: { searchQuery: search, resourceId, limit: SHOWN }, signal }),
  );
  const { value } = hits;
  if (!value || value.results.length === 0) return null;
  return (
    <section className="stack hits" aria-labelledby="hits">
      <h2 className="section-title" id="hits">
        In messages
      </h2>
      <ul className="card thread-list">
        {value.results.map(({ threadId, threadTitle, message }) => (
          <li className="thread-item" key={message.id}>
            <Link className="thread-link" href={path(["threads", threadId], { message: message.id })}>
              <span className="hit">
                <Excerpt text={messageText(message)} search={search} />
              </span>
              <span className="truncate muted small">in {threadTitle || threadId}</span>
            </Link>
            <span className="muted small">
              <Time at={message.createdAt} ago />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function messageText(message: WireMessage): string {
  return message.content.parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
}

function Excerpt({ text, search }: { text: string; search: string }): ReactNode {
  const at = text.toLowerCase().indexOf(search.toLowerCase());
  if (at < 0) return text.slice(0, AROUND * 2);
  const start = Math.max(0, at - AROUND);
  const end = at + search.length;
  return (
    <>
      {start > 0 && "… "}
      {text.slice(start, at)}
      <mark>{text.slice(at, end)}</mark>
      {text.slice(end, end + AROUND)}
      {text.length > end + AROUND && " …"}
    </>
  );
}
