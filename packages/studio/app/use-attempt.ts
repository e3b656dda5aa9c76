import { useCallback, useState } from "react";
import { toError } from "./use-load.ts";

export interface Attempt {
  busy: boolean;
  /** Why the last one failed. */
  error: Error | undefined;
  /** Returns whether it worked. Does nothing while another one is under way. */
  attempt(act: () => Promise<unknown>): Promise<boolean>;
}

/** One action at a time, and why it did not work. */
export function useAttempt(): Attempt {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error>();
  const attempt = useCallback(
    async (act: () => Promise<unknown>) => {
      if (busy) return false;
      setBusy(true);
      setError(undefined);
      try {
        await act();
        return true;
      } catch (failure) {
        setError(toError(failure));
        return false;
      } finally {
        setBusy(false);
      }
    },
    [busy],
  );
  return { busy, error, attempt };
}
