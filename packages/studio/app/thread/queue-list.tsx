import type { QueuedMessage, SignalContents } from "@selvedge/protocol/routes";
import { type FormEvent, type ReactNode, useState } from "react";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { useActions } from "./actions.tsx";
import type { Thread } from "./thread.ts";

/** What was accepted and waits for its turn, oldest first. */
export function QueueList({ thread }: { thread: Thread }): ReactNode {
  const waiting = thread.queue.filter(({ due }) => due === "next");
  if (waiting.length === 0) return null;
  return (
    <section className="queue" aria-label="Queued messages">
      <p className="hint">
        {waiting.length === 1 ? "1 message waits" : `${waiting.length} messages wait`} for the run to end
      </p>
      <ol>
        {waiting.map((message, index) => (
          <QueueItem key={message.id} message={message} index={index} count={waiting.length} />
        ))}
      </ol>
    </section>
  );
}

function QueueItem({
  message,
  index,
  count,
}: {
  message: QueuedMessage;
  index: number;
  count: number;
}): ReactNode {
  const { thread, attempt, focusComposer } = useActions();
  const { inSession } = thread;
  const [draft, setDraft] = useState<string>();
  const save = (event: FormEvent): void => {
    event.preventDefault();
    const text = draft?.trim() ?? "";
    const contents = withText(message.signal.contents, text);
    if (contents.length === 0) return;
    void attempt(() => thread.editQueued(message.id, contents)).then(() => setDraft(undefined));
  };
  return (
    <li className="queue-item" data-testid="queued">
      <Badge>{index + 1}</Badge>
      {draft === undefined ? (
        <>
          <span className="truncate grow">{toText(message)}</span>
          {inSession && (
            <>
              <Button
                kind="quiet"
                size="small"
                icon="up"
                label="Move up"
                disabled={index === 0}
                onClick={() => void attempt(() => inSession.moveQueued(message.id, index - 1))}
              />
              <Button
                kind="quiet"
                size="small"
                icon="down"
                label="Move down"
                disabled={index === count - 1}
                onClick={() => void attempt(() => inSession.moveQueued(message.id, index + 1))}
              />
              <Button
                kind="quiet"
                size="small"
                icon="send"
                label="Steer with this message now"
                onClick={() => {
                  focusComposer();
                  void attempt(() => inSession.steerQueued(message.id));
                }}
              />
            </>
          )}
          <Button
            kind="quiet"
            size="small"
            icon="edit"
            label="Edit this message"
            onClick={() => setDraft(wordsOf(message.signal.contents))}
          />
          <Button
            kind="quiet"
            size="small"
            icon="trash"
            label="Remove this message"
            onClick={() => {
              focusComposer();
              void attempt(() => thread.removeQueued(message.id));
            }}
          />
        </>
      ) : (
        <form className="row grow" onSubmit={save}>
          <input
            className="input grow"
            aria-label="Queued message"
            autoFocus
            value={draft}
            onChange={(event) => setDraft(event.target.value)}
            onKeyDown={(event) => event.key === "Escape" && setDraft(undefined)}
          />
          <Button kind="primary" size="small" type="submit">
            Save
          </Button>
          <Button kind="quiet" size="small" onClick={() => setDraft(undefined)}>
            Back
          </Button>
        </form>
      )}
    </li>
  );
}

export function toText({ signal }: QueuedMessage): string {
  const { contents } = signal;
  if (typeof contents === "string") return contents;
  return contents
    .map((part) => (part.type === "text" ? part.text : `[${part.filename ?? part.mediaType}]`))
    .join(" ");
}

function wordsOf(contents: SignalContents): string {
  if (typeof contents === "string") return contents;
  return contents.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The files stay; the words are these. */
function withText(contents: SignalContents, text: string): SignalContents {
  if (typeof contents === "string") return text;
  const files = contents.filter((part) => part.type !== "text");
  return text === "" ? files : [{ type: "text", text }, ...files];
}
