import { createInterface } from "node:readline";
import type { DiffLine } from "@selvedge/protocol";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import type { Chat } from "./chat.ts";
import { printable } from "./printable.ts";
import { describeCall, describeResult, diffOf, type ShownCall } from "./tool-call.ts";

export interface PlainChatOptions {
  input: NodeJS.ReadableStream;
  output: NodeJS.WritableStream;
  /** A person types; otherwise lines are piped in, and each waits for the answer to the one before. */
  isTerminal: boolean;
}

/**
 * A chat as lines of text, for pipes and screen readers: nothing that was written is changed, and there are no escape
 * sequences. Returns the exit code: 1 if an answer to piped input failed.
 */
export async function runPlainChat(chat: Chat, options: PlainChatOptions): Promise<number> {
  return new PlainChat(chat, options).run();
}

class PlainChat {
  readonly #chat: Chat;
  readonly #options: PlainChatOptions;
  #isAtLineStart = true;
  #asked: string | undefined;
  readonly #declined = new Set<string>();
  #hasFailed = false;
  #wake: () => void = () => {};

  constructor(chat: Chat, options: PlainChatOptions) {
    this.#chat = chat;
    this.#options = options;
  }

  async run(): Promise<number> {
    const { input, isTerminal } = this.#options;
    const chat = this.#chat;
    const lines = createInterface({ input, terminal: false });
    const onSignal = (): void => chat.interrupt();
    process.on("SIGINT", onSignal);
    let hasLeft = false;
    chat.onLeave = () => {
      hasLeft = true;
      lines.close();
      this.#wake();
    };
    chat.onEvent = (event) => this.#show(event);
    chat.onNote = (kind, text) => {
      if (kind === "error") this.#hasFailed = true;
      this.#line(printable(text));
    };
    chat.onOthers = (text) => this.#line(`> ${text}`);
    chat.onChange = () => {
      this.#ask();
      this.#wake();
    };
    this.#ask();
    let turns = 0;
    try {
      for await (const line of lines) {
        if (hasLeft) break;
        if (line.trim() === "") continue;
        if (isTerminal) {
          if (chat.display.isRunning && chat.questions.length === 0 && !line.startsWith("/"))
            this.#line("(steering: the agent reads it before its next step)");
          void chat.submit(line);
          continue;
        }
        if (turns++ > 0 && chat.questions.length === 0) this.#line("");
        await chat.submit(line);
        while (!hasLeft && chat.isBusy && chat.questions.length === 0) await this.#changed();
        if (hasLeft) break;
      }
    } finally {
      process.off("SIGINT", onSignal);
      lines.close();
    }
    this.#endLine();
    return this.#hasFailed && !isTerminal ? 1 : 0;
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #show(event: AgentControllerEvent): void {
    switch (event.type) {
      case "text":
        return this.#put(printable(event.text));
      case "message_end":
        return this.#endLine();
      case "tool_start":
        return this.#call({
          id: event.toolCallId,
          name: event.toolName,
          args: event.args,
          status: "running",
        });
      case "tool_decided":
        if (!event.approved) this.#declined.add(event.toolCallId);
        return;
      case "shell_output":
        return this.#put(printable(event.output));
      case "tool_end":
        if (this.#declined.delete(event.toolCallId)) return this.#line("← declined");
        return this.#line(`← ${event.isError ? "failed: " : ""}${describeResult(event.result)}`);
      case "agent_end":
        if (event.reason === "error") this.#hasFailed = true;
        return this.#endLine();
    }
  }

  #call(call: ShownCall): void {
    this.#line(`→ ${describeCall(call)}`);
    this.#diff(diffOf(call));
  }

  #diff(lines: readonly DiffLine[]): void {
    for (const { sign, text } of lines) this.#line(`  ${sign} ${text}`);
  }

  /** Asks what is to be answered next, once. */
  #ask(): void {
    const [question] = this.#chat.questions;
    if (question?.toolCallId === this.#asked) return;
    this.#asked = question?.toolCallId;
    if (!question) return;
    const diff = this.#chat.transcript.diffs.get(question.toolCallId);
    if (diff) this.#diff(diff);
    this.#line(question.text);
    question.options.forEach(({ label, description }, index) =>
      this.#line(`${index + 1}. ${printable(label)}${description ? `: ${description}` : ""}`),
    );
    this.#line(`(${question.hint})`);
  }

  #put(text: string): void {
    if (text === "") return;
    this.#options.output.write(text);
    this.#isAtLineStart = text.endsWith("\n");
  }

  #line(text: string): void {
    this.#endLine();
    this.#put(`${text}\n`);
  }

  #endLine(): void {
    if (!this.#isAtLineStart) this.#put("\n");
  }
}
