import { Markdown, Marked } from "@earendil-works/pi-tui";
import type { Theme } from "./theme.ts";

const MARKED = new Marked();

/**
 * Markdown that grows at its end. What stands before the last paragraph, list or code does not change any more: only that
 * last part is parsed and drawn again, and what has scrolled away stays as it is.
 */
export class GrowingMarkdown {
  readonly #theme: Theme;
  readonly #parts: Markdown[] = [];
  #text = "";
  /** Where the last part begins. */
  #tailAt = 0;

  constructor(theme: Theme) {
    this.#theme = theme;
  }

  /** One for each paragraph and the like. All but the last one are final. */
  parts(text: string): readonly Markdown[] {
    if (text === this.#text) return this.#parts;
    if (!text.startsWith(this.#text)) {
      this.#parts.length = 0;
      this.#tailAt = 0;
    }
    this.#text = text;
    // The last part may have become something else.
    this.#parts.pop();
    let at = this.#tailAt;
    for (const { type, raw } of MARKED.lexer(text.slice(at))) {
      if (type !== "space") {
        this.#tailAt = at;
        this.#parts.push(
          new Markdown(raw.trimEnd(), 0, 0, this.#theme.markdown, undefined, { renderLatex: false }),
        );
      }
      at += raw.length;
    }
    return this.#parts;
  }
}
