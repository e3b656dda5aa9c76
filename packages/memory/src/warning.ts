import { errorMessage } from "@selvedge/core/errors";

/** Background work failed: the run is fine, but its operator should know. */
export interface MemoryWarning {
  message: string;
  cause: unknown;
}

export type Warn = (message: string, cause: unknown) => void;

/** A `Warn` that never throws, whatever the app's handler does. */
export function toWarn(onWarning: ((warning: MemoryWarning) => void) | undefined): Warn {
  return (message, cause) => {
    try {
      if (onWarning) onWarning({ message, cause });
      else console.warn(`[memory] ${message} ${errorMessage(cause)}`);
    } catch {
      // A failing handler must not fail the run.
    }
  };
}
