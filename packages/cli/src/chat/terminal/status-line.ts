import { type Component, truncateToWidth, visibleWidth } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import { oneLine } from "../printable.ts";
import type { Theme } from "./theme.ts";

/** Below the editor: where the session is, what it has used, and what it is doing. */
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
          ? yellow(
              questions.length === 1
                ? "waiting for you"
                : `${questions.length} questions are waiting for you`,
            )
          : workingSince !== undefined
            ? `working ${Math.floor((Date.now() - workingSince) / 1000)} s, Ctrl-C to stop`
            : "/help";
    const yolo = session.state.get()["yolo"] === true ? yellow("yolo") : "";
    const price = cost === undefined ? "" : `$${cost.toFixed(cost < 0.1 ? 4 : 2)}`;
    const tasks = open > 0 ? `${display.tasks.length - open}/${display.tasks.length} tasks` : "";
    const model = oneLine(session.model.get());
    const used = `${tokens(totalTokens)} tokens`;
    const parts = [bold(oneLine(session.mode.get())), model, yolo, used, price, tasks];
    if (queued > 0) parts.push(`${queued} queued`);
    parts.push(activity);
    return [fit(parts, [model, used, tasks, price], width, dim(" · "))];
  }
}

/** A narrow window has no room for everything: what matters least goes first. */
function fit(parts: readonly string[], spare: readonly string[], width: number, between: string): string {
  const line = parts.filter((part) => part !== "").join(between);
  const [first, ...rest] = spare;
  if (visibleWidth(line) <= width || first === undefined) return truncateToWidth(line, width, "…");
  const without = parts.filter((part) => part !== first);
  return fit(without, rest, width, between);
}

function tokens(count: number): string {
  if (count < 1000) return String(count);
  return count < 1_000_000 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(2)}m`;
}
