import { type Component, truncateToWidth } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import { oneLine } from "../printable.ts";
import type { Theme } from "./theme.ts";

/** Below the editor: where the session is, what it has used, and what goes on. */
export class StatusLine implements Component {
  readonly #chat: Chat;
  readonly #theme: Theme;

  constructor(chat: Chat, theme: Theme) {
    this.#chat = chat;
    this.#theme = theme;
  }

  invalidate(): void {}

  render(width: number): string[] {
    const { bold, dim, yellow } = this.#theme;
    const { session, display, connection, cost, workingSince, questions } = this.#chat;
    const { totalTokens } = display.tokenUsage;
    const queued = display.queuedFollowUps;
    const open = display.tasks.filter(({ status }) => status !== "completed").length;
    const activity =
      connection === "reconnecting"
        ? yellow("reconnecting …")
        : questions.length > 0
          ? yellow(questions.length === 1 ? "waits for you" : `${questions.length} questions wait for you`)
          : workingSince !== undefined
            ? `working ${Math.floor((Date.now() - workingSince) / 1000)} s, Ctrl-C stops`
            : "/help";
    const parts = [
      bold(oneLine(session.mode.get())),
      oneLine(session.model.get()),
      ...(session.state.get()["yolo"] === true ? [yellow("yolo")] : []),
      `${tokens(totalTokens)} tokens`,
      ...(cost === undefined ? [] : [`$${cost.toFixed(cost < 0.1 ? 4 : 2)}`]),
      ...(open > 0 ? [`${display.tasks.length - open}/${display.tasks.length} tasks`] : []),
      ...(queued > 0 ? [`${queued} queued`] : []),
      activity,
    ];
    return [truncateToWidth(parts.filter((part) => part !== "").join(dim(" · ")), width, "…")];
  }
}

function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}m`;
}
