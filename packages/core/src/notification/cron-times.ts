import { AgentError, errorMessage, showValue } from "../errors.ts";

const EVERY_MINUTE = "*/1 * * * *";
const MINUTE_MS = 60_000;

/** The first match of a cron pattern after a time; without a pattern, the next full minute. */
export async function cronTimes(
  pattern: string = EVERY_MINUTE,
): Promise<(after: number) => number | undefined> {
  // The most common pattern needs no calendar.
  if (pattern === EVERY_MINUTE) return (after) => (Math.floor(after / MINUTE_MS) + 1) * MINUTE_MS;
  const { Cron } = await import("croner");
  try {
    const cron = new Cron(pattern, { paused: true });
    return (after) => cron.nextRun(new Date(after))?.getTime();
  } catch (cause) {
    throw new AgentError(
      "invalid-argument",
      `notifications.dispatch.cron ${showValue(pattern)} is not a valid cron pattern: ${errorMessage(cause)}`,
      { cause },
    );
  }
}
