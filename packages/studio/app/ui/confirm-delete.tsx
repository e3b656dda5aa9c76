import { type ReactNode, useState } from "react";
import { useAttempt } from "../use-attempt.ts";
import { Button } from "./button.tsx";
import { Failure } from "./state.tsx";

/** A button that asks once more before it deletes. */
export function ConfirmDelete({
  label,
  question = "Delete it",
  onDelete,
}: {
  label: string;
  question?: string;
  onDelete(): Promise<void>;
}): ReactNode {
  const [asking, setAsking] = useState(false);
  const { busy, error, attempt } = useAttempt();
  return (
    <>
      {asking ? (
        <span className="row">
          <Button
            size="small"
            kind="danger"
            autoFocus
            disabled={busy}
            onClick={() => void attempt(onDelete).then((done) => done || setAsking(false))}
          >
            {question}
          </Button>
          <Button size="small" kind="quiet" onClick={() => setAsking(false)}>
            Keep
          </Button>
        </span>
      ) : (
        <Button kind="quiet" size="small" icon="trash" label={label} onClick={() => setAsking(true)} />
      )}
      {error && <Failure error={error} />}
    </>
  );
}
