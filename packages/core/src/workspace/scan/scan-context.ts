/** How a scan runs: in a thread, or between other work. */
export interface ScanContext<Part = never> {
  /** Lets other work run, and throws if the scan was aborted. Called before each entry. */
  pause?: (() => void | Promise<void>) | undefined;
  /** Hands over what was found, so that it is not lost if the scan is stopped. */
  report?: ((part: Part) => void) | undefined;
  /** Nothing else waits for this thread. */
  isThread?: boolean;
}
