import { format } from "node:util";
import { Editor, matchesKey, setCapabilities } from "@earendil-works/pi-tui";
import type { Chat } from "../chat.ts";
import { Completions } from "./completions.ts";
import { LiveArea } from "./live-area.ts";
import { Screen } from "./screen.ts";
import { StatusLine } from "./status-line.ts";
import { createTheme } from "./theme.ts";
import { TranscriptView } from "./transcript-view.ts";

const CONSOLE = ["log", "info", "warn", "error", "debug"] as const;

/** A chat on a terminal of a person. Resolves when the person leaves. */
export async function runTerminalChat(chat: Chat, { color }: { color: boolean }): Promise<void> {
  // Links show their address: what a model names one need not be where it leads.
  setCapabilities({ images: null, trueColor: false, hyperlinks: false });
  const terminal = new TerminalChat(chat, color);
  await terminal.run();
}

/** Puts the parts on the screen, and passes on what is typed. */
class TerminalChat {
  readonly #chat: Chat;
  readonly #screen: Screen;
  readonly #live: LiveArea;
  readonly #editor: Editor;
  readonly #left: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #threadId: string | null;
  #asked: string | undefined;
  /** What was being typed when a question came: it is not the answer. */
  #draft = "";

  constructor(chat: Chat, color: boolean) {
    this.#chat = chat;
    const theme = createTheme(color);
    const transcript = new TranscriptView(chat, theme);
    this.#screen = new Screen(transcript);
    this.#live = new LiveArea(chat, theme);
    this.#editor = new Editor(this.#screen, theme.editor);
    this.#editor.setAutocompleteProvider(new Completions(chat));
    this.#screen.addChild(this.#live);
    this.#screen.addChild(this.#editor);
    this.#screen.addChild(new StatusLine(chat, theme));
    this.#screen.setFocus(this.#editor);
    this.#threadId = chat.session.thread.getId();
    for (const text of chat.transcript.said()) this.#editor.addToHistory(text);
    this.#editor.onSubmit = (text) => this.#submit(text, "steer");
    this.#screen.addInputListener((data) => (this.#key(data) ? { consume: true } : undefined));
    chat.onChange = () => {
      const threadId = chat.session.thread.getId();
      if (threadId !== this.#threadId) transcript.clear();
      this.#threadId = threadId;
      this.#followQuestion();
      this.#screen.requestRender();
    };
    chat.onUnsent = (text) => {
      // It is also in the history: something else may have been typed since.
      if (this.#editor.getText() === "") this.#editor.setText(text);
    };
    chat.onLeave = () => this.#left.resolve();
  }

  async run(): Promise<void> {
    const giveBack = this.#takeConsole();
    const leave = (): void => this.#left.resolve();
    const interrupt = (): void => this.#chat.interrupt();
    const clock = setInterval(() => this.#chat.workingSince && this.#screen.requestRender(), 1000);
    // The error that ends the process is printed on a terminal that works as before.
    const restore = (): void => this.#screen.stop();
    process.on("SIGTERM", leave).on("SIGHUP", leave).on("SIGINT", interrupt);
    process.on("uncaughtExceptionMonitor", restore);
    process.stdin.once("end", leave);
    this.#followQuestion();
    this.#screen.start();
    try {
      await this.#left.promise;
    } finally {
      clearInterval(clock);
      process.off("SIGTERM", leave).off("SIGHUP", leave).off("SIGINT", interrupt);
      process.off("uncaughtExceptionMonitor", restore);
      this.#screen.renderNow();
      this.#screen.stop();
      await this.#screen.terminal.drainInput();
      giveBack();
    }
  }

  #submit(text: string, how: "steer" | "queue"): void {
    // An answer is of no use later.
    if (text.trim() !== "" && this.#chat.questions.length === 0) this.#editor.addToHistory(text);
    void this.#chat.submit(text, how);
  }

  /** Handles keys that the editor does not know. Returns whether it did. */
  #key(data: string): boolean {
    const editor = this.#editor;
    if (matchesKey(data, "ctrl+c")) {
      // What was typed comes back with the arrow key.
      const typed = editor.getExpandedText();
      if (typed.trim() !== "") editor.addToHistory(typed);
      editor.setText("");
      this.#chat.interrupt();
      return true;
    }
    if (matchesKey(data, "ctrl+d") && editor.getText() === "") {
      this.#chat.onLeave();
      return true;
    }
    this.#chat.typed();
    if (matchesKey(data, "alt+enter")) {
      const text = editor.getExpandedText();
      editor.setText("");
      this.#submit(text, "queue");
      return true;
    }
    return this.#choose(data);
  }

  /** Keys that choose among the options of a question. */
  #choose(data: string): boolean {
    const [question] = this.#chat.questions;
    const { choice } = this.#live;
    if (!question || !choice || this.#editor.getText() !== "") return false;
    const count = question.options.length;
    if (matchesKey(data, "up")) choice.index = (choice.index + count - 1) % count;
    else if (matchesKey(data, "down")) choice.index = (choice.index + 1) % count;
    else if (data === " " && question.many) toggle(choice.marked, choice.index);
    else if (matchesKey(data, "enter")) {
      const picked = choice.marked.size > 0 ? [...choice.marked].toSorted((a, b) => a - b) : [choice.index];
      void this.#chat.submit(picked.map((index) => index + 1).join(","));
    } else return false;
    this.#screen.requestRender();
    return true;
  }

  /** Only what is typed after a question is an answer to it. */
  #followQuestion(): void {
    const [question] = this.#chat.questions;
    if (question?.toolCallId === this.#asked) return;
    this.#asked = question?.toolCallId;
    this.#live.choice = question && question.options.length > 0 ? { index: 0, marked: new Set() } : undefined;
    const typed = this.#editor.getExpandedText();
    if (question && typed !== "") {
      this.#draft = typed;
      this.#editor.setText("");
    } else if (!question && typed === "" && this.#draft !== "") {
      this.#editor.setText(this.#draft);
      this.#draft = "";
    }
  }

  /** What a project prints would tear the screen: it becomes a note. */
  #takeConsole(): () => void {
    const before = CONSOLE.map((name) => [name, console[name]] as const);
    for (const name of CONSOLE) console[name] = (...values: unknown[]) => this.#chat.say(format(...values));
    return () => {
      for (const [name, method] of before) console[name] = method;
    };
  }
}

function toggle(marked: Set<number>, index: number): void {
  if (!marked.delete(index)) marked.add(index);
}
