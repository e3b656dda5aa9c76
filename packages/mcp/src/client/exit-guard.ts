const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Calls back when this process ends, by itself or by a signal. Returns a function that takes it back. */
export function onProcessExit(callback: () => void): () => void {
  const undo = (): void => {
    process.off("exit", callback);
    for (const signal of SIGNALS) process.off(signal, onSignal);
  };
  function onSignal(signal: NodeJS.Signals): void {
    callback();
    undo();
    // Nobody else handles it, so it does what it would have done without us.
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  }
  process.on("exit", callback);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return undo;
}
