import type { SignalContents } from "@selvedge/protocol/routes";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
  useEffect,
  useRef,
} from "react";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { useActions } from "./actions.tsx";
import { AttachmentList } from "./attachment-list.tsx";
import { toContents } from "./attachment.ts";
import { QueueList } from "./queue-list.tsx";
import type { Draft } from "./use-draft.ts";
import type { Thread } from "./thread.ts";

/** Where a person writes. On a busy thread it offers both ways in: into the run under way, or after it. */
export function Composer({
  thread,
  agentName,
  draft,
  box,
}: {
  thread: Thread;
  agentName: string;
  draft: Draft;
  box: RefObject<HTMLTextAreaElement | null>;
}): ReactNode {
  const { attempt } = useActions();
  const { name } = useStudio();
  const picker = useRef<HTMLInputElement>(null);
  const { text, attachments } = draft;
  const busy = thread.run !== undefined;
  const empty = text.trim() === "" && attachments.length === 0;

  useEffect(() => box.current?.focus({ preventScroll: true }), [box]);
  useEffect(() => {
    const element = box.current!;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight + 2}px`;
  }, [text, box]);

  const submit = (send: (contents: SignalContents) => Promise<unknown>): void => {
    if (empty || draft.reading) return;
    const taken = draft.take();
    box.current?.focus();
    void attempt(() => send(toContents(taken.text, taken.attachments))).then((sent) => {
      // What could not be sent goes back into the box, unless something new was written.
      if (!sent) draft.giveBack(taken);
    });
  };
  const from = name.trim() === "" ? {} : { attributes: { name: name.trim() } };
  const send = (): void => submit((contents) => thread.sendMessage(contents, from));
  const queue = (): void => submit((contents) => thread.queueMessage(contents, from));
  const stop = (): void => {
    box.current?.focus();
    void attempt(() => thread.abort());
  };

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
  const noticePaste = (event: ClipboardEvent): void => {
    const files = [...event.clipboardData.files];
    if (files.length === 0) return;
    event.preventDefault();
    draft.attach(files);
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
        {draft.problems.length > 0 && (
          <div className="note row" data-tone="amber" role="alert">
            <span className="grow">{draft.problems.join(" ")}</span>
            <Button kind="quiet" size="small" icon="cross" label="Dismiss" onClick={draft.dismiss} />
          </div>
        )}
        <AttachmentList
          attachments={attachments}
          onRemove={(id) => {
            draft.detach(id);
            box.current?.focus();
          }}
        />
        <textarea
          ref={box}
          rows={1}
          aria-label={`Message to ${agentName}`}
          placeholder={placeholder(thread.run?.state, agentName)}
          value={text}
          onChange={(event) => draft.write(event.target.value)}
          onKeyDown={noticeKey}
          onPaste={noticePaste}
        />
        <div className="composer-foot">
          <input
            ref={picker}
            className="visually-hidden"
            type="file"
            multiple
            tabIndex={-1}
            aria-label="Files to attach"
            onChange={(event) => {
              draft.attach([...(event.target.files ?? [])]);
              event.target.value = "";
              box.current?.focus();
            }}
          />
          <Button
            kind="quiet"
            size="small"
            icon="clip"
            label="Attach files"
            onClick={() => picker.current?.click()}
          />
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
          <Button kind="primary" size="small" icon="send" type="submit" disabled={empty || draft.reading}>
            {busy ? "Steer" : "Send"}
          </Button>
        </div>
      </form>
    </>
  );
}

function placeholder(state: "running" | "suspended" | undefined, agentName: string): string {
  if (state === "running") return "Steer the run, or queue a message …";
  if (state === "suspended") return `${agentName} is waiting for a decision …`;
  return `Message ${agentName} …`;
}
