import type { WireChange } from "@selvedge/protocol/routes";
import { type ReactNode, useState } from "react";
import { formatError } from "../format.ts";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { toError, useLoad } from "../use-load.ts";
import { DiffView } from "./diff-view.tsx";

export type Change = Pick<WireChange, "toolCallId" | "path" | "operation" | "added" | "removed" | "diff">;

const DONE = { create: "created", edit: "edited", delete: "deleted", mkdir: "created" } as const;

/** What a call changed in a workspace, with a way back. Without a change, it shows the one that is stored. */
export function ChangeCard({
  toolCallId,
  change: given,
}: {
  toolCallId: string;
  change?: Change;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const [refusal, setRefusal] = useState<Error>();
  const [busy, setBusy] = useState(false);
  const stored = useLoad(`change ${toolCallId}`, async (signal) => {
    const query = { resourceId };
    const { workspaces } = await client.call("listWorkspaces", { query, signal });
    for (const { id: workspaceId } of workspaces) {
      const asked = { params: { workspaceId }, query: { ...query, toolCallId }, signal };
      const { changes } = await client.call("listWorkspaceChanges", asked);
      const found = changes.at(-1);
      if (found) return { workspaceId, ...found };
    }
    return undefined;
  });
  const undo = async (): Promise<void> => {
    const { workspaceId, threadId } = stored.value!;
    setBusy(true);
    try {
      const params = { workspaceId, toolCallId };
      await client.call("undoWorkspaceChange", { params, body: { resourceId, threadId } });
      stored.reload();
    } catch (error) {
      setRefusal(toError(error));
    } finally {
      setBusy(false);
    }
  };
  const change = given ?? stored.value;
  if (!change) return null;
  const { path, operation, added, removed, diff } = change;
  const isUndone = stored.value?.undoneAt !== undefined;
  return (
    <section className="tool-call" aria-label={`Change to ${path}`} data-testid="change">
      <div className="tool-call-head" data-plain="">
        <Icon name="file" />
        <span className="mono tool-call-name truncate">{path}</span>
        <span className="muted">{DONE[operation]}</span>
        <span className="mono small grow">
          <span data-line="added">+{added}</span> <span data-line="removed">−{removed}</span>
        </span>
        {isUndone && <Badge>undone</Badge>}
        {stored.value && !isUndone && (
          <Button
            size="small"
            disabled={busy || refusal !== undefined}
            title={refusal?.message}
            aria-label={`Undo the change to ${path}`}
            onClick={() => void undo()}
          >
            Undo
          </Button>
        )}
      </div>
      {refusal && (
        <p className="tool-call-body note" data-tone="amber" role="status">
          {formatError(refusal)}
        </p>
      )}
      {diff !== undefined && <DiffView diff={diff} />}
    </section>
  );
}
