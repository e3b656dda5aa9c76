import type { ReactNode } from "react";
import { formatError } from "../format.ts";
import { Button } from "./button.tsx";

/** What stands in for a page or a part of it that has nothing to show. */
export function Empty({ title, children }: { title: string; children?: ReactNode }): ReactNode {
  return (
    <div className="empty">
      <strong>{title}</strong>
      {children}
    </div>
  );
}

export function Loading({ what }: { what: string }): ReactNode {
  return (
    <div className="empty" role="status">
      <span className="spinner" aria-hidden="true" />
      Loading {what} …
    </div>
  );
}

export function Failure({ error, onRetry }: { error: Error; onRetry?: () => void }): ReactNode {
  return (
    <div className="note row" data-tone="red" role="alert">
      <span className="grow">{formatError(error)}</span>
      {onRetry && (
        <Button size="small" onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  );
}
