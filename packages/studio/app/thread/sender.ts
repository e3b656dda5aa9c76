import type { ThreadMessage } from "@selvedge/react";
import { formatShort } from "../format.ts";

/** Who a message is from, and how it is to be drawn. */
export interface Sender {
  kind: "person" | "agent" | "signal" | "state" | "notification";
  name: string;
  /** Where it came from and the like, beside the name. */
  attributes: [name: string, value: string][];
}

export function toSender(message: ThreadMessage, agentName: string): Sender {
  const { role, type = role, metadata = {} } = message;
  if (role === "assistant") return { kind: "agent", name: agentName, attributes: [] };
  const attributes = Object.entries(message.attributes ?? {}).map(([name, value]): [string, string] => [
    name,
    formatShort(value),
  ]);
  if (role === "user") {
    const name = attributes.find(([key]) => key === "name")?.[1];
    return { kind: "person", name: name ?? "You", attributes: attributes.filter(([key]) => key !== "name") };
  }
  const kind = "state" in metadata ? "state" : "notification" in metadata ? "notification" : "signal";
  return { kind, name: type, attributes };
}
