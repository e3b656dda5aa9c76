import { lstat, mkdir, realpath, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { basename, join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Mastra } from "@selvedge/core";
import { AgentError, errorMessage } from "@selvedge/core/errors";
import { resolveModel } from "@selvedge/core/model";
import { LibSQLStore } from "@selvedge/libsql";
import type { OpenChat } from "./chat/chat-session.ts";
import { openHostChat } from "./chat/open-host-chat.ts";
import { printable } from "./chat/printable.ts";
import { runChat, type RunChatFlags } from "./chat/run-chat.ts";
import { chooseModel } from "./choose-model.ts";
import { codeController } from "./code/code-controller.ts";
import { TrustedFolders } from "./code/trusted-folders.ts";
import { demoCoder } from "./demo/demo-coder.ts";
import { toUrl } from "./storage-url.ts";

export interface CodeFlags extends RunChatFlags {
  model?: string;
}

/** `selvedge code`: a coding agent for a folder, on the terminal of this process. */
export async function runCodeCommand(given: string, flags: CodeFlags): Promise<number> {
  const folder = await realFolder(given);
  const found = await chooseModel(flags.model, process.env);
  const choice = found.scripted ? { ...found, model: demoCoder() } : found;
  await resolveModel(choice.model);
  const store = await storeOf(folder);
  const storage = new LibSQLStore({ url: toUrl(store ?? ":memory:") });
  const isTrusted = store !== undefined;
  const { controller, workspace } = codeController({ folder, isTrusted, choice, storage });
  const mastra = new Mastra({ agentControllers: { code: controller }, storage, logger: false });
  const { sandbox } = await workspace.getInfo();
  const bounds =
    sandbox?.isolation === undefined
      ? "The agent only reads, because this folder is not trusted. Nothing is stored"
      : sandbox.isolation === "none"
        ? "No sandbox is available: commands run with all your permissions"
        : `Commands run in ${sandbox.isolation === "bwrap" ? "bubblewrap" : "seatbelt"}, without network`;
  const wanted = { controllerId: "code", sessionId: undefined, threadId: undefined, resourceId: "local" };
  const open: OpenChat = await openHostChat(mastra, wanted, `with ${choice.name}: ${choice.why}. ${bounds}`);
  return runChat(
    {
      ...open,
      name: basename(folder),
      heading: "Selvedge code in",
      farewell: isTrusted
        ? "Run `selvedge code` again to continue this session."
        : "This session is not stored.",
      workspace: {
        bounds: `${bounds}.`,
        changes: (filter) => workspace.changes(filter),
        undo: (call) => workspace.undo(call),
        skills: async () =>
          ((await workspace.skills?.list()) ?? []).filter((skill) => skill["user-invocable"]),
        read: async (path) => {
          const files = workspace.filesystem!;
          if (!(await files.exists(path))) return "";
          return (await files.readFile(path, { encoding: "utf8" })) as string;
        },
      },
    },
    flags,
  );
}

async function realFolder(given: string): Promise<string> {
  try {
    const folder = await realpath(given);
    if ((await lstat(folder)).isDirectory()) return folder;
  } catch (error) {
    throw new AgentError("not-found", `The folder "${given}" cannot be opened: ${errorMessage(error)}.`);
  }
  throw new AgentError("invalid-argument", `"${given}" is not a folder. Name the folder of a project.`);
}

/** Where a trusted folder's conversations are stored; `undefined` if the user does not trust it. */
async function storeOf(folder: string): Promise<string | undefined> {
  const folders = new TrustedFolders(await realpath(homedir()));
  const trusted =
    (await folders.find(folder)) ??
    ((await asksForTrust(folder, folders)) ? await folders.trust(folder) : undefined);
  if (!trusted) return undefined;
  const home = join(folder, ".selvedge");
  await mkdir(home).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
  // A link that came with the folder would lead out of it.
  if (!(await lstat(home)).isDirectory())
    throw new AgentError("invalid-argument", `${home} is not a folder. Remove it and start again.`);
  await writeFile(join(home, ".gitignore"), "*\n", { flag: "wx" }).catch(() => {});
  return join(home, `code-${trusted.storeId}.db`);
}

async function asksForTrust(folder: string, folders: TrustedFolders): Promise<boolean> {
  const { stdin, stdout, stderr } = process;
  if (!folders.canTrust(folder)) {
    stderr.write("This folder contains your home directory, so the agent only reads here.\n\n");
    return false;
  }
  if (!stdin.isTTY || !stdout.isTTY) return false;
  stdout.write(`${printable(folder)} is new to Selvedge.

If you trust it, the agent follows its AGENTS.md, can change its files
and can run commands in it. It asks before each change and each command.
If you do not, the agent only reads.

`);
  const lines = createInterface({ input: stdin, output: stdout });
  try {
    return /^y(es)?$/i.test((await lines.question("Do you trust this folder? [y/N] ")).trim());
  } finally {
    lines.close();
    stdout.write("\n");
  }
}
