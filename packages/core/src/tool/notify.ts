/** Tells an observer. Nobody waits for it, and what it throws is its own concern. */
export function notify<Args>(observer: ((args: Args) => unknown) | undefined, args: Args): void {
  if (!observer) return;
  try {
    Promise.resolve(observer(args)).catch(() => {});
  } catch {
    // As above.
  }
}
