import { ProcessTerminal, truncateToWidth, TuiMainScreen, visibleWidth } from "@earendil-works/pi-tui";
import type { TranscriptView } from "./transcript-view.ts";

/** How the library clears everything, and how the visible part alone is cleared. */
const CLEAR_ALL = "\u001b[2J\u001b[H\u001b[3J";
const CLEAR_VISIBLE = "\u001b[H\u001b[J";

/** Whether the terminal continues on the next line what does not fit on one. */
const WRAP_OFF = "\u001b[?7l";
const WRAP_ON = "\u001b[?7h";

/**
 * A terminal whose scrollback is left alone: it also has what was there before the chat. Terminals disagree about the width
 * of some emoji. A line that one of them finds too long is cut there: wrapped, it would push all others out of place.
 */
class KeepingTerminal extends ProcessTerminal {
  override write(data: string): void {
    super.write(`${WRAP_OFF}${data.replace(CLEAR_ALL, CLEAR_VISIBLE)}${WRAP_ON}`);
  }
}

/**
 * Draws on the terminal's main screen. Lines of the transcript that are final and have scrolled off the top are given to
 * the terminal for good, so the cost of a frame does not grow with the conversation.
 */
export class Screen extends TuiMainScreen {
  readonly #transcript: TranscriptView;
  #size = "";

  constructor(transcript: TranscriptView) {
    super(new KeepingTerminal(), true);
    this.#transcript = transcript;
    this.addChild(transcript);
  }

  /** A line that is too wide for a very narrow window is cut: the library would end the program. */
  override render(width: number): string[] {
    return super
      .render(width)
      .map((line) => (visibleWidth(line) > width ? truncateToWidth(line, width, "") : line));
  }

  protected override doRender(): void {
    const { columns, rows } = this.terminal;
    const size = `${columns}x${rows}`;
    if (this.#size !== "" && this.#size !== size) this.#transcript.comeBack(columns, rows);
    this.#size = size;
    super.doRender();
    this.#scrollAway();
  }

  #scrollAway(): void {
    const state = this.captureRenderState();
    const lines = this.#transcript.scrollAway(state.previousViewportTop);
    if (lines === 0) return;
    this.restoreRenderState({
      ...state,
      previousLines: state.previousLines.slice(lines),
      cursorRow: state.cursorRow - lines,
      hardwareCursorRow: state.hardwareCursorRow - lines,
      maxLinesRendered: state.maxLinesRendered - lines,
      previousViewportTop: state.previousViewportTop - lines,
    });
  }
}
