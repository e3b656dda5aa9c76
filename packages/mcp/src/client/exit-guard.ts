const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls back when this process exits, normally or by a signal. Returns a function that unregisters the callback. */
export function onProcessExit(callback: () => void): () => void {
  const undo = (): void => {
    process.off("exit", callback);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  function onSignal(signal: NodeJS.Signals): void {
    callback();
    undo();
    // No other handler exists, so the signal gets its default effect.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  }
  process.on("exit", callback);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return undo;
}
