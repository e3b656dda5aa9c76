/** Calls an observer without waiting for it. Its errors are ignored. */
export function notify<Args>(observer: ((args: Args) => unknown) | undefined, args: Args): void {
  if (!observer) return;
  try {
    Promise.resolve(observer(args)).catch(() => {});
  } catch {
    // Ignored, as above.
  }
}
