import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Mastra } from "@selvedge/core";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { Chat } from "./chat/chat.ts";
import type { OpenChat } from "./chat/chat-session.ts";
import type { WantedChat } from "./chat/open-host-chat.ts";
import { countOf } from "./count-of.ts";
import { findDevAddress } from "./dev/dev-address.ts";
import { findEntry } from "./dev/find-entry.ts";
import { createStyle, wantsColor } from "./style.ts";

export interface ChatFlags {
  model?: string;
  thread?: string;
  session?: string;
  storage: string;
  url?: string;
  /** The server that `selvedge dev` runs in this folder. */
  dev?: boolean;
  agent?: string;
  token?: string;
  resource: string;
  plain?: boolean;
  /** `false` for `--no-color`. */
  color: boolean;
}

/** How long what is under way may take to end when the person leaves. */
const CLOSE_MS = 1000;

/** `selvedge chat`: a session on the terminal of this process. It is one of this process, or of a server. */
export async function runChatCommand(flags: ChatFlags): Promise<number> {
  const { stdin, stdout, stderr, env } = process;
  // The reader of a pipe may leave early, as `head` does.
  stdout.on("error", () => process.exit(0));
  const isTerminal = stdin.isTTY === true && stdout.isTTY === true;
  const isPlain = !isTerminal || flags.plain === true || env["TERM"] === "dumb";
  const open = await openChat(flags);
  let exitCode = 1;
  try {
    const chat = new Chat(open);
    const remembered = await chat.start();
    const color = !flags.plain && flags.color && wantsColor(stdout, env);
    const width = isTerminal ? stdout.columns || 80 : Infinity;
    (isTerminal ? stdout : stderr).write(banner(open, remembered, width, color));
    if (isPlain) {
      const { runPlainChat } = await import("./chat/plain-chat.ts");
      exitCode = await runPlainChat(chat, { input: stdin, output: stdout, isTerminal });
    } else {
      const { runTerminalChat } = await import("./chat/terminal/terminal-chat.ts");
      await runTerminalChat(chat, { color });
      stdout.write("Start the chat again to continue this session.\n");
      exitCode = 0;
    }
    chat.stop();
  } finally {
    // A run that goes on is in the store, and the next process continues it: no one has to wait for its end.
    const isClosed = await Promise.race([open.close().then(() => true), sleep(CLOSE_MS, false)]);
    if (!isClosed) process.exit(exitCode);
  }
  return exitCode;
}

async function openChat(flags: ChatFlags): Promise<OpenChat> {
  const wanted: WantedChat = {
    controllerId: flags.agent,
    sessionId: flags.session,
    threadId: flags.thread,
    resourceId: flags.resource,
  };
  const url = flags.url ?? (flags.dev ? findDevAddress(process.cwd()) : undefined);
  if (url !== undefined) {
    const { openRemoteChat } = await import("./chat/open-remote-chat.ts");
    return openRemoteChat(url, flags.token ?? process.env["SELVEDGE_TOKEN"], wanted);
  }
  const { openHostChat } = await import("./chat/open-host-chat.ts");
  const entry = flags.model === undefined ? findEntry(process.cwd(), undefined) : undefined;
  if (entry === undefined) {
    const { createDemoMastra } = await import("./dev/demo-mastra.ts");
    const { mastra, about } = await createDemoMastra({ model: flags.model, storage: flags.storage });
    return openHostChat(mastra, wanted, about);
  }
  if (existsSync(".env")) process.loadEnvFile(".env");
  const { registerProjectModules } = await import("./dev/project-modules.ts");
  registerProjectModules(() => {});
  return openHostChat(await loadProject(entry), wanted, "in this process");
}

async function loadProject(entry: string): Promise<Mastra> {
  const { loadMastra } = await import("./dev/load-mastra.ts");
  try {
    return await loadMastra(entry);
  } catch (error) {
    if ((error as { code?: unknown }).code !== "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX") throw error;
    throw new AgentError(
      "invalid-argument",
      `Node cannot run ${entry} without transforming it (${errorMessage(error)}). Run \`selvedge dev\`, then \`selvedge chat --dev\`.`,
      { cause: error },
    );
  }
}

function banner({ name, about }: OpenChat, remembered: number, width: number, color: boolean): string {
  const style = createStyle(color);
  const messages = countOf(remembered, "message");
  const notes = [
    `${about[0]?.toUpperCase()}${about.slice(1)}.`,
    ...(remembered > 0 ? [`Continuing the last conversation (${messages}). /new starts another.`] : []),
    "/help lists the commands. Ctrl-C stops an answer.",
  ];
  const lines = notes.flatMap((note) => wrapWords(note, width)).map((line) => style.dim(line));
  return `${[`${style.bold("Selvedge chat")} with ${style.bold(name)}`, ...lines].join("\n")}\n\n`;
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
