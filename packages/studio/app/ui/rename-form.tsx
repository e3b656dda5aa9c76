import { type FormEvent, type ReactNode, useState } from "react";
import { formatError } from "../format.ts";
import { useStudio } from "../studio-context.tsx";
import { toError } from "../use-load.ts";
import { Button } from "./button.tsx";

const MAX_LENGTH = 200;

/** Where a person gives a thread another name. Escape leaves it as it was; so does an empty name. */
export function RenameForm({
  threadId,
  agentId,
  title,
  onDone,
}: {
  threadId: string;
  agentId?: string;
  title: string;
  /** With the name it now has, if it has another. */
  onDone(title?: string): void;
}): ReactNode {
  const { client, resourceId, noteThreads } = useStudio();
  const [draft, setDraft] = useState(title);
  const [saving, setSaving] = useState(false);
  const [error, setError] = useState<Error>();
  const save = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const name = draft.trim();
    if (saving) return;
    if (name === "" || name === title) return onDone();
    setSaving(true);
    try {
      const query = { resourceId, ...(agentId !== undefined && { agentId }) };
      await client.call("updateThread", { params: { threadId }, query, body: { resourceId, title: name } });
      noteThreads();
      onDone(name);
    } catch (failure) {
      setError(toError(failure));
      setSaving(false);
    }
  };
  return (
    <form className="row grow rename" onSubmit={(event) => void save(event)}>
      <input
        className="input grow"
        aria-label="Name of the thread"
        placeholder="Name of the thread"
        autoFocus
        maxLength={MAX_LENGTH}
        value={draft}
        onFocus={(event) => event.target.select()}
        onChange={(event) => setDraft(event.target.value)}
        onKeyDown={(event) => event.key === "Escape" && onDone()}
      />
      <Button kind="primary" size="small" type="submit" disabled={saving}>
        Save
      </Button>
      <Button kind="quiet" size="small" onClick={() => onDone()}>
        Back
      </Button>
      {error && (
        <p className="field-error" role="alert">
          {formatError(error)}
        </p>
      )}
    </form>
  );
}
