import { join } from "node:path";
import { resolveModel } from "@selvedge/core/model";
import { LibSQLStore } from "@selvedge/libsql";
import { Chat } from "./chat.ts";
import type { ChatPeer } from "./chat-peer.ts";
import { chooseModel } from "./choose-model.ts";
import { countOf } from "./count-of.ts";
import { findDevAddress } from "./dev/dev-address.ts";
import { createDemoAgent } from "./demo/demo-agent.ts";
import { LocalPeer } from "./local-peer.ts";
import { toUrl } from "./storage-url.ts";
import { createStyle, type Style, wantsColor } from "./style.ts";

export interface ChatFlags {
  model?: string;
  thread?: string;
  storage: string;
  url?: string;
  /** The server that `selvedge dev` runs in this folder. */
  dev?: boolean;
  agent?: string;
  token?: string;
  resource: string;
  /** `false` for `--no-color`. */
  color: boolean;
}

/** `selvedge chat`: an agent on the terminal of this process. It runs here, with a memory in a file, or on a server. */
export async function runChatCommand(flags: ChatFlags): Promise<number> {
  // The reader of a pipe may leave early, as `head` does.
  process.stdout.on("error", () => process.exit(0));
  const url = flags.url ?? (flags.dev ? findDevAddress(process.cwd()) : undefined);
  if (url !== undefined) {
    const { RemotePeer } = await import("./remote-peer.ts");
    const peer = await RemotePeer.connect(url, {
      agentId: flags.agent,
      resourceId: flags.resource,
      token: flags.token ?? process.env["SELVEDGE_TOKEN"],
    });
    return talk(peer, flags, peer.name, `on ${url}`);
  }
  const choice = await chooseModel(flags.model, process.env);
  // A missing key or package is told now, not after the first question.
  await resolveModel(choice.model);
  const storage = new LibSQLStore({ url: toUrl(flags.storage) });
  try {
    const { agent, memory } = await createDemoAgent({
      choice,
      storage,
      notesFile: join(".selvedge", "notes.md"),
    });
    return await talk(new LocalPeer(agent, memory, flags.resource), flags, choice.name, choice.why);
  } finally {
    await storage.close();
  }
}

async function talk(peer: ChatPeer, flags: ChatFlags, name: string, why: string): Promise<number> {
  const { stdin, stdout, stderr, env } = process;
  const terminal = stdin.isTTY === true && stdout.isTTY === true;
  const style = createStyle(flags.color && wantsColor(stdout, env));
  const remembered = await peer.open(flags.thread);
  (terminal ? stdout : stderr).write(banner(name, why, remembered, style));
  return new Chat({ peer, style, input: stdin, output: stdout, terminal }).run();
}

function banner(name: string, why: string, remembered: number, style: Style): string {
  const lines = [`${style.bold("Selvedge chat")} with ${style.bold(name)} ${style.dim(`(${why})`)}`];
  if (remembered > 0) {
    const messages = countOf(remembered, "message");
    lines.push(style.dim(`Continuing the last conversation (${messages}). /new starts another.`));
  }
  lines.push(style.dim("/help lists the commands. Ctrl-C stops an answer."));
  return `${lines.join("\n")}\n\n`;
}
