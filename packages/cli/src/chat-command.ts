import type { OpenChat } from "./chat/chat-session.ts";
import type { WantedChat } from "./chat/open-host-chat.ts";
import { runChat } from "./chat/run-chat.ts";
import { findDevAddress } from "./dev/dev-address.ts";
import { findEntry } from "./dev/find-entry.ts";
import { loadProject } from "./dev/load-project.ts";

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

/** `selvedge chat`: a session on the terminal of this process. It is one of this process, or of a server. */
export async function runChatCommand(flags: ChatFlags): Promise<number> {
  return runChat(await openChat(flags), flags);
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
  return openHostChat(await loadProject(entry, "selvedge chat --dev"), wanted, "in this process");
}
