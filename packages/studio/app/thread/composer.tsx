import type { UseThreadResult as Thread } from "@selvedge/react";
import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { useActions } from "./actions.tsx";
import { QueueList } from "./queue-list.tsx";

/** Where a person writes. On a busy thread it offers both ways in: into the run under way, or after it. */
export function Composer({ thread, agentName }: { thread: Thread; agentName: string }): ReactNode {
  const { attempt } = useActions();
  const { name } = useStudio();
  const [text, setText] = useState("");
  const box = useRef<HTMLTextAreaElement>(null);
  const busy = thread.run !== undefined;
  const empty = text.trim() === "";

  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    const element = box.current!;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text]);

  const submit = (send: (contents: string) => Promise<unknown>): void => {
    if (empty) return;
    const contents = text;
    setText("");
    box.current?.focus();
    void attempt(() => send(contents)).then((sent) => {
      // What could not be sent goes back into the box, unless something new was typed.
      if (!sent) setText((now) => (now === "" ? contents : now));
    });
  };
  const from = name.trim() === "" ? {} : { attributes: { name: name.trim() } };
  const send = (): void => submit((contents) => thread.sendMessage(contents, from));
  const queue = (): void => submit((contents) => thread.queueMessage(contents, from));
  const stop = (): void => void attempt(() => thread.abort());

  const noticeKey = (event: KeyboardEvent): void => {
    // Enter also ends the choice of a character in some writing systems.
    if (event.nativeEvent.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey) {
      event.preventDefault();
      if (busy && (event.ctrlKey || event.metaKey)) queue();
      else send();
    }
    if (event.key === "Escape" && busy) stop();
  };

  return (
    <>
      <QueueList thread={thread} />
      <form
        className="composer"
        data-busy={busy || undefined}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <textarea
          ref={box}
          rows={1}
          aria-label={`Message to ${agentName}`}
          placeholder={placeholder(thread.run?.state, agentName)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={noticeKey}
        />
        <div className="composer-foot">
          <span className="hint keys">
            {busy ? (
              <>
                <kbd>Enter</kbd> steer · <kbd>Ctrl</kbd> <kbd>Enter</kbd> queue · <kbd>Esc</kbd> stop
              </>
            ) : (
              <>
                <kbd>Enter</kbd> send · <kbd>Shift</kbd> <kbd>Enter</kbd> new line
              </>
            )}
          </span>
          {busy && (
            <>
              <Button kind="danger" size="small" icon="stop" onClick={stop}>
                Stop
              </Button>
              <Button size="small" icon="queue" disabled={empty} onClick={queue}>
                Queue
              </Button>
            </>
          )}
          <Button kind="primary" size="small" icon="send" type="submit" disabled={empty}>
            {busy ? "Steer" : "Send"}
          </Button>
        </div>
      </form>
    </>
  );
}

function placeholder(state: "running" | "suspended" | undefined, agentName: string): string {
  if (state === "running") return "Steer it, or queue what comes next …";
  if (state === "suspended") return `${agentName} waits for a decision …`;
  return `Message ${agentName} …`;
}
