import { type ReactNode, useEffect, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { RenameForm } from "../ui/rename-form.tsx";

/** The thread's name above it, which a double click or the pencil beside it changes. */
export function ThreadTitle({
  threadId,
  agentId,
  title,
  spoken,
  onRenamed,
}: {
  threadId: string;
  agentId?: string;
  title: string | undefined;
  /** Whether the thread is stored: one that is not has nothing to be named. */
  spoken: boolean;
  onRenamed(title: string): void;
}): ReactNode {
  const [renaming, setRenaming] = useState(false);
  const pencil = useRef<HTMLSpanElement>(null);
  const wasRenaming = useRef(false);
  useEffect(() => {
    // What had the focus is gone with the form.
    if (wasRenaming.current && !renaming) pencil.current?.querySelector("button")?.focus();
    wasRenaming.current = renaming;
  }, [renaming]);
  if (!spoken) return <h1 className="truncate">{title ?? "New thread"}</h1>;
  if (renaming) {
    return (
      <RenameForm
        threadId={threadId}
        {...(agentId !== undefined && { agentId })}
        title={title ?? ""}
        onDone={(name) => {
          if (name !== undefined) onRenamed(name);
          setRenaming(false);
        }}
      />
    );
  }
  return (
    <div className="row thread-name">
      <h1 className="truncate" onDoubleClick={() => setRenaming(true)}>
        {title ?? "Untitled"}
      </h1>
      <span ref={pencil}>
        <Button
          kind="quiet"
          size="small"
          icon="edit"
          label="Rename this thread"
          onClick={() => setRenaming(true)}
        />
      </span>
    </div>
  );
}
