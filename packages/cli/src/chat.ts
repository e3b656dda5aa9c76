import { type AgentChunk, type Answer, answerFrom } from "@selvedge/protocol";
import type { ChatPeer, WaitingCall } from "./chat-peer.ts";
import { LineReader } from "./line-reader.ts";
import { describeError, showRun } from "./show-run.ts";
import type { Style } from "./style.ts";

export interface ChatSettings {
  /** With its conversation open. */
  peer: ChatPeer;
  style: Style;
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream & { columns?: number };
  /** A person sits in front of it; otherwise lines are piped in. */
  terminal: boolean;
}

const HELP = `/new    start another conversation
/help   show this help
/quit   leave (also Ctrl-D)
Ctrl-C  stop the answer; press it again to leave
`;

/**
 * A conversation on a terminal. Each line is a turn; the conversation itself is a thread that the peer keeps.
 *
 *     [ line → answer → (a tool call waits → yes or no → the rest of the answer)… ]… → end of input, /quit, or Ctrl-C twice
 */
export class Chat {
  readonly #settings: ChatSettings;
  #answer: AbortController | undefined;
  #interrupted = false;
  #turns = 0;
  #reader: LineReader | undefined;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  /** Answers lines until there are no more. Answers the exit code: 1 when piped input had an answer that failed. */
  async run(): Promise<number> {
    const { input, output, terminal, style } = this.#settings;
    const prompt = style.prompt("> ");
    const reader = new LineReader({ input, output, terminal, prompt, onInterrupt: () => this.#interrupt() });
    this.#reader = reader;
    const onSignal = (): void => this.#interrupt();
    process.on("SIGINT", onSignal);
    let failed = false;
    try {
      for (let line = await reader.next(); line !== undefined; line = await reader.next()) {
        const text = line.trim();
        if (text === "/quit" || text === "/exit") break;
        if (text === "") continue;
        this.#interrupted = false;
        if (text.startsWith("/")) this.#command(text);
        else if (!(await this.#turn(text))) failed = true;
      }
    } finally {
      process.off("SIGINT", onSignal);
      reader.close();
    }
    return failed && !terminal ? 1 : 0;
  }

  #command(text: string): void {
    if (text === "/new") {
      this.#settings.peer.startNew();
      this.#write(this.#settings.style.dim("Started a new conversation.\n"));
    } else if (text === "/help") {
      this.#write(HELP);
    } else {
      this.#write(`Unknown command ${text}.\n${HELP}`);
    }
  }

  /** Answers whether it went well. */
  async #turn(text: string): Promise<boolean> {
    const { peer, terminal } = this.#settings;
    if (!terminal && this.#turns++ > 0) this.#write("\n");
    const answer = answerFrom();
    let shown = await this.#show(answer, (signal) => peer.send(text, signal));
    for (let call = shown.waiting[0]; call !== undefined; call = shown.waiting[0]) {
      const approved = await this.#ask(call);
      if (approved === undefined) break;
      const waiting = call;
      shown = await this.#show(answer, (signal) => peer.decide(waiting, approved, signal));
    }
    if (terminal) this.#write("\n");
    return shown.well;
  }

  async #show(
    answer: Answer,
    open: (signal: AbortSignal) => Promise<AsyncIterable<AgentChunk>>,
  ): Promise<{ well: boolean; waiting: WaitingCall[] }> {
    const { style } = this.#settings;
    this.#answer = new AbortController();
    try {
      const run = await open(this.#answer.signal);
      const { outcome, waiting } = await showRun(run, answer, (piece) => this.#write(piece), style);
      return { well: outcome !== "failed", waiting };
    } catch (error) {
      this.#write(`${style.red(describeError(error))}\n`);
      return { well: false, waiting: [] };
    } finally {
      this.#answer = undefined;
    }
  }

  /** Whether a call may run; `undefined` when nobody is there to say. Without an answer it goes on waiting on its thread. */
  async #ask({ toolName }: WaitingCall): Promise<boolean | undefined> {
    this.#write(this.#settings.style.bold(`Allow ${toolName} to run? (y/n)\n`));
    for (let line = await this.#reader?.reply(); line !== undefined; line = await this.#reader?.reply()) {
      if (/^\s*y(es)?\s*$/i.test(line)) return true;
      if (/^\s*no?\s*$/i.test(line)) return false;
      this.#write("Please answer y or n.\n");
    }
    return undefined;
  }

  /** The first Ctrl-C stops the answer, or warns when there is none; the second, with nothing typed between, leaves. */
  #interrupt(): void {
    if (this.#interrupted) {
      this.#answer?.abort();
      this.#write("\n");
      this.#reader?.close();
      return;
    }
    this.#interrupted = true;
    if (this.#answer) {
      this.#answer.abort();
    } else {
      this.#write(`\n${this.#settings.style.dim("(press Ctrl-C again to leave)")}\n`);
      this.#reader?.restart();
    }
  }

  #write(text: string): void {
    this.#settings.output.write(text);
  }
}
