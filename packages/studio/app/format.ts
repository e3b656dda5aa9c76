import type { RunInfo } from "@selvedge/protocol/routes";

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const WHOLE = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const NUMBER = new Intl.NumberFormat();
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

/** The time of day, with the date when it is not today. */
export function formatTime(time: string): string {
  const date = new Date(time);
  const today = date.toDateString() === new Date().toDateString();
  return today ? CLOCK.format(date) : `${DAY.format(date)}, ${CLOCK.format(date)}`;
}

export function formatWhole(time: string): string {
  return WHOLE.format(new Date(time));
}

/** How long ago, in the largest unit that fits. */
export function formatAgo(time: string, now: number = Date.now()): string {
  const seconds = (new Date(time).getTime() - now) / 1000;
  const units: [Intl.RelativeTimeFormatUnit, number][] = [
    ["day", 86_400],
    ["hour", 3600],
    ["minute", 60],
  ];
  for (const [unit, size] of units) {
    if (Math.abs(seconds) >= size) return RELATIVE.format(Math.round(seconds / size), unit);
  }
  return Math.abs(seconds) < 10 ? "just now" : RELATIVE.format(Math.round(seconds), "second");
}

export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function formatNumber(value: number): string {
  return NUMBER.format(value);
}

/** JSON for people; a text stays as it is. */
export function formatValue(value: unknown): string {
  if (typeof value === "string") return value;
  return JSON.stringify(value, undefined, 2) ?? "undefined";
}

/** JSON on one line, cut where a line would end. */
export function formatShort(value: unknown, length = 96): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** What a run took: steps, tokens, time. */
export function formatRun(run: RunInfo): string {
  const parts: string[] = [];
  if (run.steps > 0) parts.push(run.steps === 1 ? "1 step" : `${run.steps} steps`);
  if (run.usage?.totalTokens) parts.push(`${formatNumber(run.usage.totalTokens)} tokens`);
  const end = run.endedAt ?? run.suspendedAt;
  if (end) parts.push(formatDuration(new Date(end).getTime() - new Date(run.startedAt).getTime()));
  return parts.join(" · ");
}

/** Why something did not work, for the person who tried. */
export function formatError(error: Error): string {
  const { message } = error;
  if ((error as { code?: unknown }).code === "connection-failed")
    return "The server cannot be reached. Is it running?";
  switch (statusOf(error)) {
    case 401:
      return `The server could not authenticate you (401). ${message}`;
    case 403:
      return `You are not allowed to do this (403). ${message}`;
    default:
      return message;
  }
}

/** What the server answered; also where something before it did, with a body of its own. */
export function statusOf(error: unknown): number | undefined {
  const { status, details } = error as { status?: number; details?: { status?: unknown } };
  return typeof details?.status === "number" ? details.status : status;
}
