import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import { CHAT_COMMANDS } from "../chat-commands.ts";
import { oneLine } from "../printable.ts";

/** Completes commands after a slash, and names after a command. */
export class Completions implements AutocompleteProvider {
  readonly #chat: Chat;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  async getSuggestions(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
  ): Promise<AutocompleteSuggestions | null> {
    const text = (lines[0] ?? "").slice(0, cursorCol);
    if (cursorLine > 0 || !text.startsWith("/")) return null;
    const [, name = "", hasRest, rest = ""] = /^\/(\S*)(\s+)?(.*)$/.exec(text)!;
    if (hasRest === undefined) {
      const items = CHAT_COMMANDS.filter((command) => command.name.startsWith(name)).map(
        ({ name: value, summary }) => ({ value, label: `/${value}`, description: summary }),
      );
      return items.length > 0 ? { items, prefix: text } : null;
    }
    const known = await CHAT_COMMANDS.find((command) => command.name === name)?.complete?.(this.#chat);
    const wanted = rest.toLowerCase();
    // What is typed in full already is sent with Enter.
    if (!known || known.some(({ value }) => value === rest)) return null;
    const items = known
      .filter(({ value, description }) => value.toLowerCase().includes(wanted) || description === rest)
      .map(({ value, description }) => ({
        value,
        label: oneLine(value),
        ...(description && { description: oneLine(description) }),
      }));
    return items.length > 0 ? { items, prefix: rest } : null;
  }

  applyCompletion(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    { value }: AutocompleteItem,
    prefix: string,
  ): { lines: string[]; cursorLine: number; cursorCol: number } {
    const line = lines[cursorLine] ?? "";
    const start = line.slice(0, cursorCol - prefix.length);
    const completed = prefix.startsWith("/") && start === "" ? `/${value}` : `${start}${value}`;
    const changed = [...lines];
    changed[cursorLine] = completed + line.slice(cursorCol);
    return { lines: changed, cursorLine, cursorCol: completed.length };
  }

  shouldTriggerFileCompletion(): boolean {
    return false;
  }
}
