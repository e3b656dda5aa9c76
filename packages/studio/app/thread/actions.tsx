import type { UseThreadResult as Thread } from "@selvedge/react";
import { createContext, type ReactNode, use, useCallback, useMemo, useState } from "react";
import { Button } from "../ui/button.tsx";
import { toError } from "../use-load.ts";

interface Actions {
  thread: Thread;
  /** Does something for the person; what goes wrong is shown above the composer. Answers whether it went well. */
  attempt(act: () => Promise<unknown>): Promise<boolean>;
  error: Error | undefined;
  dismiss(): void;
}

const ActionsContext = createContext<Actions | undefined>(undefined);

export function ThreadActionsProvider({
  thread,
  children,
}: {
  thread: Thread;
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
    () => ({ thread, attempt, error, dismiss: () => setError(undefined) }),
    [thread, attempt, error],
  );
  return <ActionsContext value={actions}>{children}</ActionsContext>;
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
      <span className="grow">{error.message}</span>
      <Button kind="quiet" size="small" icon="cross" label="Dismiss" onClick={dismiss} />
    </div>
  );
}
