import { Cron } from "croner";
import { AgentError, errorMessage, showValue } from "../errors.ts";

/** The first time after another one, in milliseconds. */
export type NextTime = (after: number) => number | undefined;

const FIELDS = /^(?:\S+\s+){4,6}\S+$/;
const NICKNAME = /^@[a-z]+$/i;

/**
 * The times of a cron pattern with 5, 6 (seconds first) or 7 (year last) fields. Without a time zone, that of the
 * process. Throws `invalid-argument` with the value.
 */
export function parseCron(pattern: unknown, timezone?: unknown, place: string = "cron"): NextTime {
  if (typeof pattern !== "string" || !(FIELDS.test(pattern.trim()) || NICKNAME.test(pattern.trim())))
    throw bad(`${place} must be a cron pattern with 5, 6 or 7 fields, got ${showValue(pattern)}.`);
  if (timezone !== undefined) checkTimezone(timezone, place);
  try {
    const cron = new Cron(pattern.trim(), {
      paused: true,
      ...(timezone !== undefined && { timezone: timezone as string }),
    });
    return (after) => cron.nextRun(new Date(after))?.getTime();
  } catch (cause) {
    throw bad(`${place} ${showValue(pattern)} is not a valid cron pattern: ${errorMessage(cause)}`, cause);
  }
}

function checkTimezone(timezone: unknown, place: string): void {
  try {
    if (typeof timezone !== "string" || timezone === "") throw new TypeError("It is not a name.");
    new Intl.DateTimeFormat("en", { timeZone: timezone });
  } catch (cause) {
    const name = place.replace(/cron$/, "timezone");
    throw bad(
      `${name} must be an IANA time zone such as "Europe/Berlin", got ${showValue(timezone)}.`,
      cause,
    );
  }
}

function bad(message: string, cause?: unknown): AgentError {
  return new AgentError("invalid-argument", message, { cause });
}
