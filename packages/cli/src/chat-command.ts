import { pathToFileURL } from "node:url";
import { Agent } from "@selvedge/core/agent";
import { resolveModel } from "@selvedge/core/model";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { Chat } from "./chat.ts";
import { calculator, currentTime } from "./chat-tools.ts";
import { chooseModel, type ModelChoice } from "./choose-model.ts";
import { createStyle, type Style, wantsColor } from "./style.ts";

export interface ChatFlags {
  model?: string;
  thread?: string;
  storage: string;
  /** `false` for `--no-color`. */
  color: boolean;
}

const INSTRUCTIONS = `You are a helpful assistant in a terminal. Answer briefly, in plain text.
Use the tools when they help: they know the time and calculate exactly.`;

/** `selvedge chat`: an agent with a memory in a file, on the terminal of this process. */
export async function runChatCommand(flags: ChatFlags): Promise<number> {
  const { stdin, stdout, stderr, env } = process;
  const terminal = stdin.isTTY === true && stdout.isTTY === true;
  // The reader of a pipe may leave early, as `head` does.
  stdout.on("error", () => process.exit(0));
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const choice = await chooseModel(flags.model, env);
  // A missing key or package is told now, not after the first question.
  await resolveModel(choice.model);
  const storage = new LibSQLStore({ url: toUrl(flags.storage) });
  try {
    const memory = new Memory({ storage, options: { lastMessages: 40 } });
    const agent = new Agent({
      id: "chat",
      name: "Chat",
      instructions: INSTRUCTIONS,
      model: choice.model,
      tools: { [currentTime.id]: currentTime, [calculator.id]: calculator },
      memory,
    });
    const chat = new Chat({ agent, memory, style, input: stdin, output: stdout, terminal });
    await chat.open(flags.thread);
    (terminal ? stdout : stderr).write(banner(choice, chat.remembered, style));
    return await chat.run();
  } finally {
    await storage.close();
  }
}

function toUrl(storage: string): string {
  return storage === ":memory:" || storage.startsWith("file:") ? storage : pathToFileURL(storage).href;
}

function banner(choice: ModelChoice, remembered: number, style: Style): string {
  const lines = [
    `${style.bold("Selvedge chat")} with ${style.bold(choice.name)} ${style.dim(`(${choice.why})`)}`,
  ];
  if (remembered > 0) {
    const messages = remembered === 1 ? "1 message" : `${remembered} messages`;
    lines.push(
      style.dim(`Going on with the last conversation: ${messages} remembered. /new starts another.`),
    );
  }
  lines.push(style.dim("/help lists the commands. Ctrl-C stops an answer."));
  return `${lines.join("\n")}\n\n`;
}
