import type { StoredMessage } from "@selvedge/protocol";

/** Whether a person wrote a message: as the input of a run, or sent to a thread, where it is stored as a signal. */
export function isFromPerson({ role, content }: StoredMessage): boolean {
  if (role !== "signal") return role === "user";
  return (content.metadata?.["signal"] as { type?: unknown } | undefined)?.type === "user";
}
