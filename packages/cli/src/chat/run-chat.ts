import { setTimeout as sleep } from "node:timers/promises";
import { countOf } from "../count-of.ts";
import { createStyle, wantsColor } from "../style.ts";
import { Chat } from "./chat.ts";
import type { OpenChat } from "./chat-session.ts";

export interface RunChatFlags {
  plain?: boolean;
  /** `false` for `--no-color`. */
  color: boolean;
}

/** How long what is under way may take to end when the person leaves. */
const CLOSE_MS = 1000;

/** A session on the terminal of this process, until the person leaves. Returns the exit code. */
export async function runChat(open: OpenChat, flags: RunChatFlags): Promise<number> {
  const { stdin, stdout, stderr, env } = process;
  // The reader of a pipe may leave early, as `head` does.
  stdout.on("error", () => process.exit(0));
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const isPlain = !isTerminal || flags.plain === true || env["TERM"] === "dumb";
  let exitCode = 1;
  try {
    const chat = new Chat(open);
    const remembered = await chat.start();
    const color = !flags.plain && flags.color && wantsColor(stdout, env);
    const width = isTerminal ? stdout.columns || 80 : Infinity;
    (isTerminal ? stdout : stderr).write(banner(open, remembered, width, color));
    if (isPlain) {
      const { runPlainChat } = await import("./plain-chat.ts");
      exitCode = await runPlainChat(chat, { input: stdin, output: stdout, isTerminal });
    } else {
      const { runTerminalChat } = await import("./terminal/terminal-chat.ts");
      await runTerminalChat(chat, { color });
      stdout.write(`${open.farewell ?? "Start the chat again to continue this session."}\n`);
      exitCode = 0;
    }
    chat.stop();
  } finally {
    // The active run is in the store and the next process continues it, so there is no need to wait for its end.
    const isClosed = await Promise.race([open.close().then(() => true), sleep(CLOSE_MS, false)]);
    if (!isClosed) process.exit(exitCode);
  }
  return exitCode;
}

function banner(
  { name, about, heading = "Selvedge chat with" }: OpenChat,
  remembered: number,
  width: number,
  color: boolean,
): string {
  const style = createStyle(color);
  const messages = countOf(remembered, "message");
  const notes = [
    `${about[0]?.toUpperCase()}${about.slice(1)}.`,
    ...(remembered > 0 ? [`Continuing the last conversation (${messages}). /new starts another.`] : []),
    "/help lists the commands. Ctrl-C stops an answer.",
  ];
  const lines = notes.flatMap((note) => wrapWords(note, width)).map((line) => style.dim(line));
  return `${[style.bold(`${heading} ${name}`), ...lines].join("\n")}\n\n`;
}

function wrapWords(text: string, width: number): string[] {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = lines.at(-1)!;
    if (line === "") lines[lines.length - 1] = word;
    else if (line.length + 1 + word.length <= width) lines[lines.length - 1] = `${line} ${word}`;
    else lines.push(word);
  }
  return lines;
}
