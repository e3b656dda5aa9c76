import type { WorkflowRunStatus } from "@selvedge/protocol";
import { type ReactNode, useState } from "react";
import { Button } from "../ui/button.tsx";
import { ConfirmDelete } from "../ui/confirm-delete.tsx";
import { Failure } from "../ui/state.tsx";
import { useAttempt } from "../use-attempt.ts";
import { hasEnded } from "./step-state.ts";
import type { RunDoer } from "./run-doer.ts";

/** What a person can do with a run as a whole. */
export function RunActions({
  run,
  status,
  onDelete,
}: {
  run: RunDoer;
  status: WorkflowRunStatus;
  onDelete(): Promise<void>;
}): ReactNode {
  const { busy, error, attempt } = useAttempt();
  const [asking, setAsking] = useState(false);
  return (
    <>
      {status === "paused" && (
        <>
          <Button
            kind="primary"
            icon="next"
            disabled={busy}
            onClick={() => void attempt(() => run.resume({ perStep: true }))}
          >
            Next step
          </Button>
          <Button icon="run" disabled={busy} onClick={() => void attempt(() => run.resume())}>
            Run to the end
          </Button>
        </>
      )}
      {!hasEnded(status) &&
        (asking ? (
          <>
            <Button
              kind="danger"
              autoFocus
              disabled={busy}
              onClick={() => void attempt(() => run.cancel()).then(() => setAsking(false))}
            >
              Cancel it
            </Button>
            <Button kind="quiet" onClick={() => setAsking(false)}>
              Keep
            </Button>
          </>
        ) : (
          <Button icon="stop" onClick={() => setAsking(true)}>
            Cancel …
          </Button>
        ))}
      {hasEnded(status) && <ConfirmDelete label="Delete this run" onDelete={onDelete} />}
      {error && <Failure error={error} />}
    </>
  );
}
