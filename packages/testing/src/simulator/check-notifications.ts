import type { Row } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import type { Stage } from "./actions.ts";
import type { SimThread } from "./ledger.ts";
import type { SentNotification } from "./sim-inbox.ts";
import { NOTIFICATIONS } from "./tables.ts";

interface Told {
  signalId: string;
  text: string;
}

const MAX_ATTEMPTS = 5;

/** I7, I8: each record was delivered in full once, or waits where it should; the history and the records agree. */
export async function checkNotifications(
  stage: Stage,
  { threadId }: SimThread,
  history: readonly StoredMessage[],
): Promise<void> {
  const { world, shared, ledger } = stage;
  const rows = await shared.select({ table: NOTIFICATIONS, where: { thread_id: threadId } });
  const { full, summaries } = readHistory(history);
  const known = new Set(rows.map((row) => row["id"] as string));
  for (const id of [...full.keys(), ...summaries.keys()])
    if (!known.has(id)) world.violate("I7", `${threadId} was told of record ${id}, which is not there`);
  for (const row of rows) checkRecord(stage, row, full.get(row["id"] as string) ?? [], summaries);
  const sent = ledger.notifications.filter((one) => one.thread.threadId === threadId);
  checkSent(stage, rows, sent);
}

function checkRecord(
  { world, ledger }: Stage,
  row: Row,
  full: readonly Told[],
  summaries: ReadonlyMap<string, string[]>,
): void {
  const id = row["id"] as string;
  const record = `record ${id} (${show(row["source"])} ${show(row["priority"])} ${show(row["status"])})`;
  const wrong = (what: string) => world.violate("I7", `${record} ${what}`);
  const count = row["coalesced_count"] as number;
  // One that was put into an idle chat and got company since is told once more.
  const mayRepeat = ledger.notifications.some(
    (one) => one.isQuiet && one.source === row["source"] && one.thread.threadId === row["thread_id"],
  )
    ? count
    : 1;
  if (full.length > mayRepeat) wrong(`was delivered in full ${full.length} times`);
  if (new Set(full.map(({ text }) => text)).size !== full.length) wrong("was delivered twice with one text");
  const told = summaries.get(id) ?? [];
  if (told.length > count) wrong(`is in ${told.length} summaries and was sent ${count} times`);
  const summary = row["summary_signal_id"];
  if (summary !== null && !told.includes(summary as string))
    wrong("has a summary that is not in the history");
  const delivered = full.find(({ signalId }) => signalId === row["delivered_signal_id"]);
  if (row["delivered_signal_id"] !== null && !delivered) wrong("has a signal that is not in the history");
  if (delivered && !delivered.text.includes(row["summary"] as string))
    wrong(`says ${show(row["summary"])} and was delivered as ${delivered.text}`);
  checkStatus(world, ledger.dismissed, row, full, wrong);
}

function checkStatus(
  world: Stage["world"],
  dismissed: ReadonlySet<string>,
  row: Row,
  full: readonly Told[],
  wrong: (what: string) => void,
): void {
  const { status, source, priority } = row;
  const { failedCommit, failedRead, unsureCommit, crash, slow, pause, clockJump, shutdown } = world.plan;
  const storeFails = failedCommit + failedRead + unsureCommit > 0;
  const senderMayBeLate = storeFails || crash + slow + pause + clockJump + shutdown > 0;
  // Somebody may read what a sender stored and had no time to decide about.
  if ((status === "discarded") !== (source === "spam") && !(senderMayBeLate && status === "seen"))
    wrong("is discarded, or should be");
  switch (status) {
    case "delivered":
    case "seen":
      if (full.length === 0) wrong("was never delivered");
      break;
    case "dismissed":
      if (!dismissed.has(row["id"] as string)) wrong("was dismissed by nobody");
      break;
    case "discarded":
      if (full.length > 0) wrong("was delivered");
      break;
    case "failed":
      world.reached.add("a notification was given up");
      if (!storeFails || (row["delivery_attempts"] as number) < MAX_ATTEMPTS)
        wrong(`was given up after ${show(row["delivery_attempts"])} attempts: ${show(row["last_error"])}`);
      break;
    default: {
      if (row["due_at"] !== null || row["undecided"] !== 0) wrong("still waits");
      const isTold = row["summary_signal_id"] !== null && (priority === "low" || priority === "medium");
      const isInChat = row["delivered_signal_id"] !== null;
      if (source !== "notes" && !isTold && !isInChat) wrong("is lost");
    }
  }
}

/** What senders were told is true: their notification is in its record, and counted. */
function checkSent({ world }: Stage, rows: readonly Row[], sent: readonly SentNotification[]): void {
  const byId = new Map(rows.map((row) => [row["id"], row]));
  const accepted = Map.groupBy(
    sent.filter(({ outcome }) => outcome === "accepted"),
    ({ recordId }) => recordId,
  );
  for (const [id, all] of accepted) {
    const row = byId.get(id ?? "");
    const tokens = all.map(({ token }) => token).join();
    if (!row) world.violate("I7", `${tokens} was accepted as record ${id} and is lost`);
    else if ((row["coalesced_count"] as number) < all.length)
      world.violate("I8", `${tokens} are in record ${id}, which counts ${show(row["coalesced_count"])}`);
    if (row && all.some(({ source, agent }) => source !== row["source"] || agent !== row["agent_id"]))
      world.violate("I8", `${tokens} went into record ${id} of ${show([row["source"], row["agent_id"]])}`);
  }
  const total = rows.reduce((sum, row) => sum + (row["coalesced_count"] as number), 0);
  if (total > sent.length)
    world.violate("I8", `${sent.length} notifications were sent and ${total} are counted`);
}

/** Full deliveries by record, and the summaries each record is in. */
function readHistory(history: readonly StoredMessage[]): {
  full: Map<string, Told[]>;
  summaries: Map<string, string[]>;
} {
  const full = new Map<string, Told[]>();
  const summaries = new Map<string, string[]>();
  for (const { id, content } of history) {
    const signal = content.metadata?.["signal"] as { metadata?: { notification?: Notice } } | undefined;
    const notice = signal?.metadata?.notification;
    if (!notice) continue;
    if (notice.recordId !== undefined) {
      const told = { signalId: id, text: JSON.stringify(content.parts) };
      full.set(notice.recordId, [...(full.get(notice.recordId) ?? []), told]);
    }
    for (const one of notice.notificationIds ?? []) summaries.set(one, [...(summaries.get(one) ?? []), id]);
  }
  return { full, summaries };
}

interface Notice {
  recordId?: string;
  notificationIds?: string[];
}

/** Why the inboxes have not come to rest, if they have not. */
export async function unrestOfInboxes(
  { shared, ledger }: Stage,
  actors: readonly Row[],
): Promise<string | undefined> {
  const rows = await shared.select({ table: NOTIFICATIONS, where: { status: "pending" } });
  for (const row of rows) {
    if (row["due_at"] === null) continue;
    const actor = actors.find((one) => one["thread_id"] === row["thread_id"]);
    const waitsForPerson =
      actor?.["run_state"] === "suspended" && row["priority"] === "high" && row["summary_signal_id"] !== null;
    if (!waitsForPerson) return `record ${show(row["id"])} of ${show(row["thread_id"])} waits`;
  }
  const waiting = ledger.notifications.find(({ outcome, process }) => outcome === "pending" && process.alive);
  return waiting && `${waiting.token} was not answered`;
}

function show(value: unknown): string {
  return JSON.stringify(value);
}
