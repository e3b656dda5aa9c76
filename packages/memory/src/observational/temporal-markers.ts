import type { StoredMessage } from "@selvedge/protocol";
import { isFromPerson } from "../is-from-person.ts";
import { toLocalTime } from "./local-time.ts";

const LEAST_GAP_MS = 10 * 60_000;

/** The reminder before a message that arrives after a pause; `undefined` below 10 minutes. */
export function temporalMarker(previous: Date, next: Date, timeZone = "UTC"): string | undefined {
  const gap = next.getTime() - previous.getTime();
  if (!(gap >= LEAST_GAP_MS)) return undefined;
  const at = toLocalTime(timeZone)(next);
  return `${duration(gap)} passed since the previous message. The next one was sent at ${at} (${timeZone}).`;
}

/**
 * Adds a reminder before each user message that arrived after a pause. Reminders depend only on stored times and are
 * not stored. `previous` is the time of the message before the first, if there is one.
 */
export function withTemporalMarkers(
  messages: readonly StoredMessage[],
  options: { previous?: Date | undefined; timeZone?: string | undefined } = {},
): StoredMessage[] {
  let previous = options.previous;
  return messages.flatMap((message) => {
    const text =
      previous && isFromPerson(message)
        ? temporalMarker(previous, message.createdAt, options.timeZone)
        : undefined;
    previous = message.createdAt;
    return text === undefined ? [message] : [marker(message, text), message];
  });
}

/** Whether a message is such a reminder. */
export function isTemporalMarker({ id, role }: StoredMessage): boolean {
  return role === "signal" && id.startsWith(MARKER_ID);
}

const MARKER_ID = "om-gap-";

function marker({ id, threadId, resourceId, createdAt }: StoredMessage, text: string): StoredMessage {
  const signal = { type: "reactive", tagName: "system-reminder", attributes: { type: "temporal-gap" } };
  return {
    id: `${MARKER_ID}${id}`,
    role: "signal",
    type: "system-reminder",
    createdAt,
    ...(threadId !== undefined && { threadId }),
    ...(resourceId !== undefined && { resourceId }),
    content: { format: 2, parts: [{ type: "text", text }], metadata: { signal } },
  };
}

const UNITS: readonly [string, number][] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

function duration(ms: number): string {
  const [unit, size] = UNITS.find(([, length]) => ms >= length) ?? ["minute", 60_000];
  const count = Math.floor(ms / size);
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}
