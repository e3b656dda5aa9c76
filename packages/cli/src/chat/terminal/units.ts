import { truncateToWidth, wrapTextWithAnsi } from "@earendil-works/pi-tui";
import type { DiffLine } from "@selvedge/protocol";
import { oneLine, printable } from "../printable.ts";
import { describeCall, diffOf, outputOf, type ShownCall } from "../tool-call.ts";
import type { Block } from "../transcript.ts";
import { GrowingMarkdown } from "./growing-markdown.ts";
import type { Theme } from "./theme.ts";

/** The smallest thing that scrolls away as a whole. */
export interface Unit {
  key: string;
  entry: string;
  isFinal: boolean;
  /** Folded to one line: those that follow one another stand close together. */
  isLine: boolean;
  render(width: number): string[];
}

const MARKS: Readonly<Record<ShownCall["status"], string>> = {
  running: "…",
  waiting: "?",
  done: "✓",
  failed: "✗",
  stopped: "■",
};

/** Draws the blocks of a conversation. */
export class Units {
  readonly #theme: Theme;
  /** By the message, then by the block. */
  readonly #texts = new Map<string, Map<string, GrowingMarkdown>>();
  readonly #diffs = new WeakMap<object, readonly DiffLine[]>();

  constructor(theme: Theme) {
    this.#theme = theme;
  }

  of(block: Block): Unit[] {
    const { bold, dim, red, cyan, yellow } = this.#theme;
    switch (block.kind) {
      case "user":
        return [this.#unit(block, (width) => folded(prefixed(cyan("> "), block.text, width, bold), dim))];
      case "text":
        return this.#markdown(block, block.text);
      case "thinking":
        return [
          this.#unit(block, (width) => [truncateToWidth(dim(`thinking: ${block.text}`), width, "…")], true),
        ];
      case "signal":
        return [this.#unit(block, (width) => prefixed(yellow("! "), block.text, width))];
      case "info":
        return [this.#unit(block, (width) => wrapTextWithAnsi(block.text, width).map(dim))];
      case "error":
        return [this.#unit(block, (width) => prefixed(red("✗ "), block.text, width, red))];
      case "tool":
        return this.#call(block, block.call);
    }
  }

  /** A message that scrolled away is not drawn again. */
  forget(entry: string): void {
    this.#texts.delete(entry);
  }

  #unit({ id: key, entry, isFinal }: Block, render: Unit["render"], isLine = false): Unit {
    return { key, entry, isFinal, isLine, render };
  }

  #markdown({ id, entry, isFinal }: Block, text: string): Unit[] {
    const ofEntry = this.#texts.get(entry) ?? new Map<string, GrowingMarkdown>();
    this.#texts.set(entry, ofEntry);
    const markdown = ofEntry.get(id) ?? new GrowingMarkdown(this.#theme);
    ofEntry.set(id, markdown);
    const parts = markdown.parts(text);
    return parts.map((part, index) => ({
      key: `${id}#${index}`,
      entry,
      isFinal: isFinal || index < parts.length - 1,
      isLine: false,
      render: (width) => trimmed(part.render(width)),
    }));
  }

  #call(block: Block, call: ShownCall): Unit[] {
    const { dim, red, green, yellow } = this.#theme;
    const paint = { running: dim, waiting: yellow, done: green, failed: red, stopped: dim }[call.status];
    const { plan, title } = Object(call.args) as { plan?: unknown; title?: unknown };
    const isPlan = call.name === "submit_plan" && typeof plan === "string";
    const described = describeCall(isPlan ? { ...call, args: {} } : call);
    const line = this.#unit(
      block,
      (width) => [
        `${paint(MARKS[call.status])} ${truncateToWidth(dim(described), Math.max(1, width - 2), "…")}`,
        ...this.#diff(call).map(({ sign, text }) =>
          truncateToWidth({ "+": green, "-": red, " ": dim }[sign](`  ${sign} ${text}`), width, "…"),
        ),
        ...outputOf(call).map((text) => truncateToWidth(dim(`  ${text}`), width, "…")),
      ],
      !isPlan,
    );
    if (!isPlan) return [line];
    const heading = `**${oneLine(typeof title === "string" ? title : "Plan")}**`;
    const shown = this.#markdown(
      { ...block, id: `${block.id}-plan`, isFinal: true },
      `${heading}\n\n${printable(plan)}`,
    );
    return [...shown, line];
  }

  #diff(call: ShownCall): readonly DiffLine[] {
    const { diff, result, args } = call;
    const made = diff ?? (Object(typeof result === "object" ? (result ?? args) : args) as object);
    const known = this.#diffs.get(made) ?? diffOf(call);
    this.#diffs.set(made, known);
    return known;
  }
}

function prefixed(
  prefix: string,
  text: string,
  width: number,
  paint: (line: string) => string = (line) => line,
): string[] {
  return wrapTextWithAnsi(text, Math.max(1, width - 2)).map(
    (line, index) => `${index === 0 ? prefix : "  "}${paint(line)}`,
  );
}

/** A large paste need not be read again. */
const MAX_LINES = 20;

function folded(lines: string[], paint: (line: string) => string): string[] {
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), paint(`  … ${lines.length - MAX_LINES} more lines`)];
}

function trimmed(lines: string[]): string[] {
  const end = lines.findLastIndex((line) => line.trim() !== "");
  return lines.slice(0, end + 1).map((line) => line.trimEnd());
}
