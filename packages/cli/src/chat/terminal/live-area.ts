import { type Component, Markdown, truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import { oneLine, printable } from "../printable.ts";
import type { Question } from "../question.ts";
import { lastLines } from "../tool-call.ts";
import type { Theme } from "./theme.ts";

/** Which of a question's options are picked with the arrow keys. */
export interface Choice {
  index: number;
  marked: Set<number>;
}

/** A line of a message that waits is enough to know it by. */
const PENDING_LINES = 3;

/** Enough for the lines that are shown. */
const MAX_OUTPUT = 8192;

/** Between the conversation and the editor: what is being prepared, what was typed and waits, and what is asked. */
export class LiveArea implements Component {
  readonly #chat: Chat;
  readonly #theme: Theme;
  choice: Choice | undefined;

  constructor(chat: Chat, theme: Theme) {
    this.#chat = chat;
    this.#theme = theme;
  }

  invalidate(): void {}

  render(width: number): string[] {
    const { dim } = this.#theme;
    const { activeTools, activeSubagents } = this.#chat.display;
    const lines: string[] = [];
    for (const { name, status, shellOutput } of activeTools.values())
      if (status === "streaming_input") lines.push(dim(`… ${oneLine(name)}`));
      else if (status === "running" && shellOutput)
        lines.push(...lastLines(shellOutput.slice(-MAX_OUTPUT)).map((line) => dim(`  ${line}`)));
    for (const { agentType, task, textDelta, status } of activeSubagents.values())
      if (status === "running")
        lines.push(dim(`… ${oneLine(agentType)}: ${oneLine(textDelta.split("\n").at(-1) || task)}`));
    const pending = this.#chat.pending.flatMap(({ text, state }) => {
      const wrapped = wrapTextWithAnsi(`> ${text}`, Math.max(10, width - 12));
      const shown = wrapped.slice(0, PENDING_LINES);
      if (wrapped.length > PENDING_LINES) shown.push(`  … ${wrapped.length - PENDING_LINES} more lines`);
      shown[shown.length - 1] += ` (${state})`;
      return shown.map(dim);
    });
    const [question] = this.#chat.questions;
    const blocks = [lines, pending, question ? this.#question(question, width) : []];
    return blocks
      .filter((block) => block.length > 0)
      .flatMap((block) => ["", ...block.map((line) => truncateToWidth(line, width, "…"))]);
  }

  #question(question: Question, width: number): string[] {
    const { bold, cyan, dim, yellow, markdown } = this.#theme;
    const { text, options, many, hint, kind, isOwn } = question;
    // A plan of the conversation stands above, as its last part.
    const asked =
      kind === "plan" && isOwn
        ? [yellow("Approve this plan?")]
        : kind === "approval"
          ? approval(text, width, (line) => bold(yellow(line)))
          : new Markdown(text, 0, 0, markdown, undefined, { renderLatex: false }).render(width);
    const choices = options.flatMap(({ label, description }, index) => {
      const isHere = this.choice?.index === index;
      const box = many ? (this.choice?.marked.has(index) ? "[x] " : "[ ] ") : "";
      const line = `${isHere ? "› " : "  "}${index + 1}. ${box}${printable(label)}`;
      const about = description ? dim(`  ${description}`) : "";
      return [`${isHere ? cyan(line) : line}${about}`];
    });
    const keys = many ? "Space to mark, Enter to answer" : "Enter to answer";
    const help = options.length > 0 ? `↑↓ to choose, ${keys}, or ${hint}` : hint;
    return [...asked, ...choices, ...wrapTextWithAnsi(dim(help), width)];
  }
}

/** The question stands out. What follows, such as a command, is shown as it is. */
function approval(text: string, width: number, paint: (line: string) => string): string[] {
  const [question = "", ...rest] = text.split("\n");
  return [
    ...wrapTextWithAnsi(paint(question), width),
    ...rest.flatMap((line) => wrapTextWithAnsi(line, width)),
  ];
}
