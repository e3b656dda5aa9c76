import {
  type KeyboardEvent,
  type ReactNode,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { Button } from "../ui/button.tsx";
import { Loading } from "../ui/state.tsx";
import { useActions } from "./actions.tsx";
import { Earlier } from "./earlier.tsx";
import { MessageGroups } from "./message-groups.tsx";
import { useFoundMessage } from "./use-found-message.ts";
import type { Thread } from "./thread.ts";

const NEAR_END = 80;

/** The messages of a thread. It stays at the end while the reader is there, and stays put when they have scrolled up. */
export function Conversation({
  thread,
  agentName,
  welcome,
}: {
  thread: Thread;
  agentName: string;
  /** What an empty thread says. */
  welcome: ReactNode;
}): ReactNode {
  const { attempt } = useActions();
  const scroller = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const { messages, run } = thread;
  const first = messages[0]?.id;
  const last = messages.at(-1);
  const sending = last?.state === "sending" ? last.id : undefined;
  const thinking = run?.state === "running" && !(last?.role === "assistant" && last.state === "streaming");
  const drawn = useRef<{ first?: string | undefined; sending?: string | undefined; height: number }>({
    height: 0,
  });

  useLayoutEffect(() => {
    const element = scroller.current!;
    const before = drawn.current;
    // Who writes wants to see what comes of it.
    if (sending !== undefined && sending !== before.sending) atEnd.current = true;
    if (atEnd.current) element.scrollTop = element.scrollHeight;
    // What came in above must not move what is being read.
    else if (first !== before.first) element.scrollTop += element.scrollHeight - before.height;
    drawn.current = { first, sending, height: element.scrollHeight };
  }, [messages, thinking, first, sending, thread.runError]);

  useEffect(() => {
    // Pictures, opened details and the browser's own guesses change heights, too.
    const observer = new ResizeObserver(() => {
      const element = scroller.current!;
      if (atEnd.current) element.scrollTop = element.scrollHeight;
      drawn.current.height = element.scrollHeight;
    });
    observer.observe(list.current!);
    return () => observer.disconnect();
  }, []);

  const leaveEnd = useCallback(() => (atEnd.current = false), []);
  useFoundMessage(thread, scroller, leaveEnd);

  const noticeScroll = (): void => {
    const element = scroller.current!;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    drawn.current.height = element.scrollHeight;
    setAway(!atEnd.current);
  };
  const noticeKey = (event: KeyboardEvent): void => {
    if (event.key === "Escape" && run && event.target === scroller.current)
      void attempt(() => thread.abort());
  };
  const toEnd = (): void => {
    atEnd.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight, behavior: "smooth" });
  };

  return (
    <div
      className="conversation"
      ref={scroller}
      onScroll={noticeScroll}
      onKeyDown={noticeKey}
      tabIndex={0}
      role="region"
      aria-label="Conversation"
    >
      {thread.status === "loading" && messages.length === 0 && <Loading what="messages" />}
      {thread.status === "ready" && messages.length === 0 && !run && welcome}
      {thread.hasMore && <Earlier key={first} scroller={scroller} load={thread.loadEarlier} />}
      <div className="messages" ref={list}>
        <MessageGroups messages={messages} agentName={agentName} />
        {thinking && (
          <div className="message-group" aria-hidden="true">
            <div className="message" data-kind="agent" data-live="">
              <div className="message-head">
                <span className="message-name">{agentName}</span>
              </div>
              <p>
                <span className="stitches" />
              </p>
            </div>
          </div>
        )}
      </div>
      {thread.runError && !run && (
        <p className="note run-error" data-tone="red" role="alert">
          The run failed: {thread.runError.message}
        </p>
      )}
      {away && (
        <div className="to-end">
          <Button size="small" icon="down" onClick={toEnd}>
            Jump to the latest
          </Button>
        </div>
      )}
      <Spoken agentName={agentName} state={run?.state} />
    </div>
  );
}

/** For those who listen: not every word as it comes, but when the agent begins, waits and is done. */
function Spoken({
  agentName,
  state,
}: {
  agentName: string;
  state: "running" | "suspended" | undefined;
}): ReactNode {
  const worked = useRef(false);
  if (state !== undefined) worked.current = true;
  const idle = worked.current ? `${agentName} is done` : "";
  const text = { running: `${agentName} is working`, suspended: `${agentName} is waiting for you`, idle };
  return (
    <span className="visually-hidden" role="status">
      {text[state ?? "idle"]}
    </span>
  );
}
