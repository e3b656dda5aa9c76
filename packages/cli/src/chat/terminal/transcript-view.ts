import type { Component } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import type { Theme } from "./theme.ts";
import { type Unit, Units } from "./units.ts";

interface Drawn {
  unit: Unit;
  lines: number;
}

/** How many dropped units can be drawn again when the window is resized. */
const KEPT = 200;

/**
 * The conversation above the editor. What is final and has left the screen belongs to the terminal, which keeps it in its
 * scrollback: it is not drawn again.
 */
export class TranscriptView implements Component {
  readonly #chat: Chat;
  readonly #units: Units;
  readonly #scrolled = new Set<string>();
  /** Messages of which everything has scrolled away. */
  readonly #gone = new Set<string>();
  #kept: Unit[] = [];
  #drawn: Drawn[] = [];
  /** What the first unit follows. */
  #before: Unit | undefined;

  constructor(chat: Chat, theme: Theme) {
    this.#chat = chat;
    this.#units = new Units(theme);
  }

  invalidate(): void {}

  render(width: number): string[] {
    const { transcript, display } = this.#chat;
    const lines: string[] = [];
    let before = this.#before;
    this.#drawn = [];
    for (const block of transcript.blocks(display, this.#gone))
      for (const unit of this.#units.of(block)) {
        if (this.#scrolled.has(unit.key)) continue;
        const own = unit.render(width);
        if (before && !(before.isLine && unit.isLine)) own.unshift("");
        lines.push(...own);
        this.#drawn.push({ unit, lines: own.length });
        before = unit;
      }
    return lines;
  }

  /** Drops the final units above a line. Returns how many lines they had. */
  scrollAway(top: number): number {
    let lines = 0;
    const leaving: Unit[] = [];
    for (const { unit, lines: own } of this.#drawn) {
      if (!unit.isFinal || lines + own > top) break;
      lines += own;
      leaving.push(unit);
    }
    if (leaving.length === 0) return 0;
    this.#drawn.splice(0, leaving.length);
    for (const unit of leaving) this.#scrolled.add(unit.key);
    const staying = new Set(this.#drawn.map(({ unit }) => unit.entry));
    const open = this.#chat.display.currentMessage?.id;
    for (const { entry } of leaving)
      if (!staying.has(entry) && entry !== open) {
        this.#gone.add(entry);
        this.#units.forget(entry);
      }
    this.#before = leaving.at(-1);
    this.#kept = [...this.#kept, ...leaving].slice(-KEPT);
    return lines;
  }

  /** The window was resized: draws enough dropped units again to fill it. */
  comeBack(width: number, height: number): void {
    let lines = this.#drawn.reduce((sum, { unit }) => sum + unit.render(width).length + 1, 0);
    while (lines < height) {
      const unit = this.#kept.pop();
      if (!unit) break;
      lines += unit.render(width).length + 1;
      this.#scrolled.delete(unit.key);
      this.#gone.delete(unit.entry);
    }
    this.#before = this.#kept.at(-1);
  }

  /** Another conversation. */
  clear(): void {
    this.#scrolled.clear();
    this.#gone.clear();
    this.#kept = [];
    this.#before = this.#drawn.at(-1)?.unit ?? this.#before;
  }
}
