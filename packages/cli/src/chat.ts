import type { Agent } from "@selvedge/core/agent";
import type { Memory } from "@selvedge/memory";
import { LineReader } from "./line-reader.ts";
import { describeError, type RunOutcome, showRun } from "./show-run.ts";
import type { Style } from "./style.ts";

export interface ChatSettings {
  agent: Agent;
  memory: Memory;
  style: Style;
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream & { columns?: number };
  /** A person sits in front of it; otherwise lines are piped in. */
  terminal: boolean;
}

const RESOURCE = "terminal";

const HELP = `/new    start another conversation
/help   show this
/quit   leave (also Ctrl-D)
Ctrl-C  stop the answer; once more to leave
`;

/**
 * A conversation on a terminal. Each line is a turn; the conversation itself is a thread in the memory's store.
 *
 *     open → [ line → answer ]… → end of input, /quit, or Ctrl-C twice
 */
export class Chat {
  readonly #settings: ChatSettings;
  #threadId = "";
  #remembered = 0;
  #answer: AbortController | undefined;
  #interrupted = false;
  #turns = 0;
  #reader: LineReader | undefined;

  constructor(settings: ChatSettings) {
    this.#settings = settings;
  }

  /** How many messages of the conversation were there when it was opened. */
  get remembered(): number {
    return this.#remembered;
  }

  /** Takes up the named conversation, or the last one, or starts the first. */
  async open(threadId: string | undefined): Promise<void> {
    const { memory } = this.#settings;
    const last = await memory.listThreads({
      filter: { resourceId: RESOURCE },
      orderBy: { field: "updatedAt", direction: "DESC" },
      perPage: 1,
    });
    this.#threadId = threadId ?? last.threads[0]?.id ?? crypto.randomUUID();
    const { total } = await memory.recall({ threadId: this.#threadId, resourceId: RESOURCE, perPage: 1 });
    this.#remembered = total;
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
        else if ((await this.#turn(text)) === "failed") failed = true;
      }
    } finally {
      process.off("SIGINT", onSignal);
      reader.close();
    }
    return failed && !terminal ? 1 : 0;
  }

  #command(text: string): void {
    if (text === "/new") {
      this.#threadId = crypto.randomUUID();
      this.#write(this.#settings.style.dim("A new conversation.\n"));
    } else if (text === "/help") {
      this.#write(HELP);
    } else {
      this.#write(`There is no command ${text}.\n${HELP}`);
    }
  }

  async #turn(text: string): Promise<RunOutcome> {
    const { agent, style, terminal } = this.#settings;
    if (!terminal && this.#turns++ > 0) this.#write("\n");
    this.#answer = new AbortController();
    try {
      const run = await agent.stream(text, {
        memory: { thread: this.#threadId, resource: RESOURCE },
        abortSignal: this.#answer.signal,
      });
      return await showRun(run, (piece) => this.#write(piece), style);
    } catch (error) {
      this.#write(`${style.red(describeError(error))}\n`);
      return "failed";
    } finally {
      this.#answer = undefined;
      if (terminal) this.#write("\n");
    }
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
      this.#write(`\n${this.#settings.style.dim("(Ctrl-C once more to leave)")}\n`);
      this.#reader?.restart();
    }
  }

  #write(text: string): void {
    this.#settings.output.write(text);
  }
}
