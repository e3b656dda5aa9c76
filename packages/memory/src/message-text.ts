import type { StoredMessage } from "@selvedge/protocol";

/** The text a person wrote or read in a message, without tool calls, reasoning and files. */
export function messageText(message: StoredMessage): string {
  const texts: string[] = [];
  for (const part of message.content.parts) {
    if (part.type === "text" && part.text !== "") texts.push(part.text);
  }
  return (texts.length > 0 ? texts.join("\n") : (message.content.content ?? "")).trim();
}

/** At most `limit` characters, never ending in half a character. */
export function clip(text: string, limit: number): string {
  return text.length <= limit
    ? text
    : `${text
        .slice(0, limit - 1)
        .toWellFormed()
        .replace(/\uFFFD$/, "")}…`;
}
