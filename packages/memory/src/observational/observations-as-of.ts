import { joinLines, logLines } from "./log-lines.ts";
import { toLocalTime } from "./local-time.ts";

/**
 * The observations of a log that were made up to `date`. Lines without a date are kept. Times of the log are those of
 * `timeZone`; a line without a time counts as made at the start of its day.
 */
export function getObservationsAsOf(text: string, date: Date, timeZone = "UTC"): string {
  const latest = toLocalTime(timeZone)(date);
  return joinLines(
    logLines(text).filter(
      (line) => line.date === undefined || `${line.date} ${line.time ?? "00:00"}` <= latest,
    ),
  );
}
