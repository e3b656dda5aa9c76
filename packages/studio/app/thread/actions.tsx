import { createContext, type ReactNode, use, useCallback, useMemo, useState } from "react";
import { formatError } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { toError } from "../use-load.ts";
import type { Thread } from "./thread.ts";

interface Actions {
  thread: Thread;
  /** Does something for the person; what goes wrong is shown above the composer. Answers whether it went well. */
  attempt(act: () => Promise<unknown>): Promise<boolean>;
  error: Error | undefined;
  dismiss(): void;
  /** Puts the cursor where a person writes: what they just used may be gone. */
  focusComposer(): void;
}

const ActionsContext = createContext<Actions | undefined>(undefined);
const ApprovalsContext = createContext<Thread["approvals"]>([]);

export function ThreadActionsProvider({
  thread,
  focusComposer,
  children,
}: {
  thread: Thread;
  focusComposer(): void;
  children: ReactNode;
}): ReactNode {
  const [error, setError] = useState<Error>();
  const attempt = useCallback(async (act: () => Promise<unknown>) => {
    setError(undefined);
    try {
      await act();
      return true;
    } catch (failure) {
      setError(toError(failure));
      return false;
    }
  }, []);
  const actions = useMemo(
    () => ({ thread, attempt, error, dismiss: () => setError(undefined), focusComposer }),
    [thread, attempt, error, focusComposer],
  );
  return (
    <ActionsContext value={actions}>
      <ApprovalsContext value={thread.approvals}>{children}</ApprovalsContext>
    </ActionsContext>
  );
}

/** The decision that a tool call waits for. Told apart from the rest, which changes with every chunk. */
export function useApproval(toolCallId: string): Thread["approvals"][number] | undefined {
  return use(ApprovalsContext).find((approval) => approval.toolCallId === toolCallId);
}

export function useActions(): Actions {
  const actions = use(ActionsContext);
  if (!actions) throw new Error("useActions is used outside of ThreadActionsProvider.");
  return actions;
}

export function ActionError(): ReactNode {
  const { error, dismiss } = useActions();
  if (!error) return null;
  return (
    <div className="note row" data-tone="red" role="alert">
      <span className="grow">{formatError(error)}</span>
      <Button kind="quiet" size="small" icon="cross" label="Dismiss" onClick={dismiss} />
    </div>
  );
}
