import { useCallback, useEffect, useRef, useState } from "react";

export interface Loaded<Value> {
  value: Value | undefined;
  error: Error | undefined;
  loading: boolean;
  reload(): void;
}

/**
 * What `load` gives, loaded anew when `key` or `version` changes or on `reload()`. The last value stays while the next one
 * of the same key comes; an answer that was overtaken is dropped.
 */
export function useLoad<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  version?: unknown,
): Loaded<Value> {
  const [state, setState] = useState<{ key?: string; value?: Value; error?: Error; loading: boolean }>({
    loading: true,
  });
  const [round, setRound] = useState(0);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const controller = new AbortController();
    const { signal } = controller;
    setState((before) => ({ ...(before.key === key && before), loading: true }));
    latest.current(signal).then(
      (value) => !signal.aborted && setState({ key, value, loading: false }),
      (error: unknown) =>
        !signal.aborted && setState((before) => ({ ...before, key, error: toError(error), loading: false })),
    );
    return () => controller.abort();
  }, [key, round, version]);
  const reload = useCallback(() => setRound((count) => count + 1), []);
  return { value: state.value, error: state.error, loading: state.loading, reload };
}

export function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
