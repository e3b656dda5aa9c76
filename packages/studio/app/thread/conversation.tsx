import type { UseThreadResult as Thread } from "@selvedge/react";
import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { Loading } from "../ui/state.tsx";
import { MessageRow } from "./message-row.tsx";

const NEAR_END = 80;

/** The messages of a thread. It stays at the end while the reader is there, and stays put when they have scrolled up. */
export function Conversation({ thread, agentName }: { thread: Thread; agentName: string }): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const [away, setAway] = useState(false);
  const { messages, run } = thread;
  const last = messages.at(-1);
  const thinking = run?.state === "running" && !(last?.role === "assistant" && last.state === "streaming");

  useLayoutEffect(() => {
    const element = scroller.current;
    if (element && atEnd.current) element.scrollTop = element.scrollHeight;
  }, [messages, thinking]);

  const noticeScroll = (): void => {
    const element = scroller.current!;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END;
    setAway(!atEnd.current);
  };
  const toEnd = (): void => {
    atEnd.current = true;
    scroller.current?.scrollTo({ top: scroller.current.scrollHeight, behavior: "smooth" });
  };
  const loadEarlier = async (): Promise<void> => {
    const element = scroller.current!;
    const fromEnd = element.scrollHeight - element.scrollTop;
    atEnd.current = false;
    await thread.loadEarlier();
    requestAnimationFrame(() => (element.scrollTop = element.scrollHeight - fromEnd));
  };

  return (
    <div
      className="conversation"
      ref={scroller}
      onScroll={noticeScroll}
      tabIndex={0}
      role="region"
      aria-label="Conversation"
    >
      {thread.status === "loading" && messages.length === 0 && <Loading what="messages" />}
      {thread.status === "ready" && messages.length === 0 && !run && <Welcome agentName={agentName} />}
      {thread.hasMore && (
        <div className="row earlier">
          <Button size="small" onClick={() => void loadEarlier()}>
            Show earlier messages
          </Button>
        </div>
      )}
      <ol className="messages" aria-live="off">
        {messages.map((message) => (
          <MessageRow key={message.id} message={message} agentName={agentName} />
        ))}
        {thinking && (
          <li className="message" data-kind="agent" data-live="">
            <div className="message-head">
              <span className="message-name">{agentName}</span>
            </div>
            <p className="thinking" role="status">
              <span className="visually-hidden">{agentName} is working</span>
              <span aria-hidden="true" className="stitches" />
            </p>
          </li>
        )}
      </ol>
      {thread.runError && !run && (
        <p className="note run-error" data-tone="red" role="alert">
          The run failed: {thread.runError.message}
        </p>
      )}
      {away && (
        <div className="to-end">
          <Button size="small" icon="down" onClick={toEnd}>
            To the latest
          </Button>
        </div>
      )}
    </div>
  );
}

function Welcome({ agentName }: { agentName: string }): ReactNode {
  return (
    <div className="empty welcome">
      <strong>Talk to {agentName}</strong>
      <p>
        While it works you can keep writing: <em>steer</em> reaches the run under way, <em>queue</em> waits
        for its own turn. Open this page in a second tab and both show the same stream.
      </p>
    </div>
  );
}
