import type { WireProcess } from "@selvedge/protocol/routes";
import { type ReactNode, useState } from "react";
import { formatError } from "../format.ts";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/state.tsx";
import { toError, useLoad } from "../use-load.ts";

/** The background processes of the user's threads, with a button that ends them. */
export function ProcessList({ workspaceId }: { workspaceId: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const list = useLoad(`processes ${workspaceId}`, (signal) =>
    client.call("listWorkspaceProcesses", { params: { workspaceId }, query: { resourceId }, signal }),
  );
  if (list.error) return <Failure error={list.error} onRetry={list.reload} />;
  const processes = list.value?.processes ?? [];
  return (
    <section aria-label="Processes" className="stack">
      <div className="row">
        <h2 className="grow">Processes</h2>
        <Button size="small" aria-label="Reload the processes" onClick={list.reload}>
          Reload
        </Button>
      </div>
      {list.value && processes.length === 0 && <p className="muted">No background processes.</p>}
      {processes.map((process) => (
        <ProcessRow
          key={`${process.threadId} ${process.pid} ${process.toolCallId}`}
          workspaceId={workspaceId}
          process={process}
          onEnd={list.reload}
        />
      ))}
    </section>
  );
}

function ProcessRow({
  workspaceId,
  process: { pid, threadId, command, state, exitCode, canKill },
  onEnd,
}: {
  workspaceId: string;
  process: Pick<WireProcess, "pid" | "threadId" | "command" | "state" | "exitCode" | "canKill">;
  onEnd: () => void;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Error>();
  const kill = async (): Promise<void> => {
    setBusy(true);
    try {
      const params = { workspaceId, pid };
      await client.call("killWorkspaceProcess", { params, body: { resourceId, threadId } });
      onEnd();
    } catch (error) {
      setRefusal(toError(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <div className="card stack process" data-testid="process">
      <div className="row">
        <span className="mono truncate grow" title={command}>
          $ {command}
        </span>
        <span className="hint mono">{pid}</span>
        <Badge tone={state === "running" ? "indigo" : state === "lost" ? "amber" : undefined}>
          {state === "exited" ? `exit ${exitCode}` : state}
        </Badge>
        {canKill && (
          <Button size="small" disabled={busy} aria-label={`Kill process ${pid}`} onClick={() => void kill()}>
            Kill
          </Button>
        )}
      </div>
      {refusal && (
        <p className="note" data-tone="amber" role="status">
          {formatError(refusal)}
        </p>
      )}
    </div>
  );
}
