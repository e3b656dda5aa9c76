import type { PermissionPolicy, ToolCategory } from "@selvedge/core/agent-controller";
import type { AgentControllerThread } from "@selvedge/protocol/session";
import { AgentError } from "@selvedge/core/errors";
import type { StoredChange } from "@selvedge/core/workspace";
import type { Chat } from "./chat.ts";
import { oneLine } from "./printable.ts";
import { diffOf } from "./tool-call.ts";

interface Completion {
  value: string;
  description?: string;
}

interface ChatCommand {
  name: string;
  /** What can follow the name. */
  usage: string;
  summary: string;
  /** What the word after the name can be. */
  complete?(chat: Chat): Promise<Completion[]>;
  run(chat: Chat, text: string): Promise<void> | void;
}

const CATEGORIES = ["read", "edit", "execute", "mcp", "other"];
const POLICIES = ["allow", "ask", "deny"];

/** What can be typed after a slash. Help, completion and `docs/cli.md` come from here. */
export const CHAT_COMMANDS: readonly ChatCommand[] = [
  {
    name: "queue",
    usage: "[text | edit N text | remove N | steer N]",
    summary: "queue a message, or list and edit the queue",
    run: runQueue,
  },
  {
    name: "mode",
    usage: "[mode]",
    summary: "list the modes, or switch to another",
    complete: async (chat) =>
      (await chat.open.modes()).map(({ id, description }) => ({
        value: id,
        ...(description !== undefined && { description }),
      })),
    run: async (chat, modeId) => {
      if (modeId !== "") return void (await chat.session.mode.switch({ modeId }));
      const modes = await chat.open.modes();
      list(
        chat,
        modes.map(({ id, description = "" }) => `${mark(id, chat.session.mode.get())}${id}  ${description}`),
      );
    },
  },
  {
    name: "model",
    usage: "[model]",
    summary: "list the models, or switch to another",
    complete: async (chat) => (await chat.open.models()).map(({ id }) => ({ value: id })),
    run: async (chat, modelId) => {
      if (modelId !== "") {
        await chat.session.model.switch({ modelId });
        return chat.say(`Model: ${modelId}, starting with the next run.`);
      }
      const models = (await chat.open.models()).filter(({ hasApiKey }) => hasApiKey !== false);
      list(
        chat,
        models.map(({ id }) => `${mark(id, chat.session.model.get())}${id}`),
        "No models are listed. /model <provider/model> sets one.",
      );
    },
  },
  {
    name: "threads",
    usage: "[number | title]",
    summary: "list the conversations, or open another",
    complete: async (chat) => {
      const threads = await chat.session.thread.list();
      return threads.map((thread, index) => ({ value: titleOf(thread), description: `${index + 1}` }));
    },
    run: runThreads,
  },
  {
    name: "new",
    usage: "[title]",
    summary: "start a new conversation",
    run: async (chat, title) => {
      await chat.session.thread.create(title === "" ? {} : { title });
      await chat.loaded();
      chat.say("Started a new conversation.");
    },
  },
  {
    name: "clone",
    usage: "[title]",
    summary: "copy the conversation and continue in the copy",
    run: async (chat, title) => {
      await chat.session.thread.clone(title === "" ? {} : { title });
      await chat.loaded();
      chat.say("This is a copy. /threads lists the original.");
    },
  },
  {
    name: "tasks",
    usage: "",
    summary: "show the task list",
    run: (chat) => {
      const marks = { pending: "[ ]", in_progress: "[~]", completed: "[x]" };
      const tasks = chat.display.tasks.map(({ status, content }) => `${marks[status]} ${oneLine(content)}`);
      list(chat, tasks, "There are no tasks.");
    },
  },
  {
    name: "permissions",
    usage: "[name allow | ask | deny, or revoke name]",
    summary: "show or change tool permissions",
    complete: async () => ["revoke", ...CATEGORIES].map((value) => ({ value })),
    run: runPermissions,
  },
  {
    name: "changes",
    usage: "[N]",
    summary: "list the changes to files, or show one in full (in `selvedge code`)",
    run: runChanges,
  },
  {
    name: "undo",
    usage: "[N]",
    summary: "undo the last change to a file, or another (in `selvedge code`)",
    run: runUndo,
  },
  {
    name: "yolo",
    usage: "[on | off]",
    summary: "run tools without asking, or ask first again",
    complete: async () => [{ value: "on" }, { value: "off" }],
    run: async (chat, word) => {
      if (!["", "on", "off"].includes(word)) return chat.say("Say /yolo on or /yolo off.");
      const yolo = word === "" ? chat.session.state.get()["yolo"] !== true : word === "on";
      await chat.session.state.set({ yolo });
      chat.say(
        yolo ? "Tools now run without asking, except those that are denied." : "Tools now ask first again.",
      );
    },
  },
  {
    name: "usage",
    usage: "",
    summary: "show how many tokens were used",
    run: (chat) => {
      const { promptTokens, completionTokens, totalTokens, cachedInputTokens } = chat.display.tokenUsage;
      list(chat, [
        `${totalTokens} tokens: ${promptTokens} in, ${completionTokens} out`,
        ...(cachedInputTokens === undefined ? [] : [`${cachedInputTokens} read from the provider's cache`]),
        ...(chat.cost === undefined ? [] : [`$${chat.cost.toFixed(4)} since you opened this terminal`]),
      ]);
    },
  },
  {
    name: "tool",
    usage: "[N]",
    summary: "show the last tool call in full",
    run: (chat, word) => {
      const call = chat.transcript.calls(chat.display)[word === "" ? 0 : Number(word)];
      if (!call) return chat.say("There is no such tool call.");
      const json = (value: unknown) => JSON.stringify(value, null, 2) ?? "nothing";
      const result = call.status === "done" || call.status === "failed" ? json(call.result) : call.status;
      chat.say(`${call.name}\n${json(call.args)}\n→ ${result}`);
    },
  },
  {
    name: "help",
    usage: "",
    summary: "show this help",
    run: async (chat) => chat.say(helpText(await skillsOf(chat))),
  },
  {
    name: "quit",
    usage: "",
    summary: "quit; the session is kept for next time",
    run: (chat) => chat.onLeave(),
  },
];

/** Keys, beside those of every line editor. */
export const CHAT_KEYS: readonly (readonly [keys: string, effect: string])[] = [
  ["Enter", "sends, or steers the agent while it works"],
  ["Alt-Enter", "queues the message until the agent is done"],
  ["Shift-Enter, Ctrl-J", "starts a new line; so does \\ before Enter"],
  ["Up, Down", "earlier messages, or the options of a question"],
  ["Tab", "completes commands and names"],
  ["Ctrl-C", "stops the run; press it again to quit"],
  ["Ctrl-D", "quits if the input is empty"],
];

type Skills = readonly { name: string; description: string }[];

/** The commands of the chat have precedence over skills. */
async function skillsOf(chat: Chat): Promise<Skills> {
  const skills = (await chat.open.workspace?.skills()) ?? [];
  return skills.filter(({ name }) => name !== "exit" && CHAT_COMMANDS.every((one) => one.name !== name));
}

/** Whether a message starts a skill. The agent loads it. */
export async function startsSkill(chat: Chat, text: string): Promise<boolean> {
  const wanted = /^\/(\S+)/.exec(text)?.[1];
  return (await skillsOf(chat)).some(({ name }) => name === wanted);
}

function helpText(skills: Skills): string {
  const rows = [
    ...CHAT_COMMANDS.map(({ name, usage, summary }): [string, string] => [
      `/${name}${usage.length > 0 && usage.length < 16 ? ` ${usage}` : ""}`,
      summary,
    ]),
    ...skills.map(({ name, description }): [string, string] => [
      `/${name}`,
      `skill: ${oneLine(description, 60)}`,
    ]),
    ...CHAT_KEYS,
  ];
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`).join("\n");
}

/** Carries out what begins with a slash. */
export async function runChatCommand(chat: Chat, text: string): Promise<void> {
  const [, name = "", rest = ""] = /^\/(\S*)\s*([^]*)$/.exec(text)!;
  const command = CHAT_COMMANDS.find((one) => one.name === name || (name === "exit" && one.name === "quit"));
  if (command) return command.run(chat, rest.trim());
  chat.say(`Unknown command /${oneLine(name, 40)}. /help lists the commands.`);
}

async function runQueue(chat: Chat, text: string): Promise<void> {
  const [, verb, number, rest = ""] = /^(edit|remove|steer)\s+(\d+)\s*([^]*)$/.exec(text) ?? [];
  if (verb === undefined) {
    if (text !== "") return chat.submit(text, "queue");
    const queued = await chat.queue();
    return list(
      chat,
      queued.map((one, index) => `${index + 1}  ${oneLine(one.text)}`),
      "Nothing is queued.",
    );
  }
  const found = (await chat.queue())[Number(number) - 1];
  if (!found) return chat.say(`There is no message ${number} in the queue. /queue lists them.`);
  const { id } = found;
  const { followUps } = chat.session;
  if (verb === "steer") await followUps.steer(id);
  else if (verb === "remove") await followUps.remove({ id });
  else if (rest === "") return chat.say("Add the new text: /queue edit 1 the new text");
  else await followUps.edit({ id, content: rest });
  await chat.queue();
}

async function runThreads(chat: Chat, wanted: string): Promise<void> {
  const threads = await chat.session.thread.list();
  if (wanted === "") {
    const current = chat.session.thread.getId() ?? "";
    const lines = threads.map(
      (thread, index) =>
        `${mark(thread.id, current)}${index + 1}  ${titleOf(thread)}  ${when(thread.updatedAt)}`,
    );
    return list(chat, lines.slice(0, MAX_THREADS), "There are no conversations.");
  }
  const title = wanted.toLowerCase();
  const found =
    (/^\d+$/.test(wanted) ? threads[Number(wanted) - 1] : undefined) ??
    threads.find((thread) => thread.id === wanted || titleOf(thread).toLowerCase() === title) ??
    threads.find((thread) => titleOf(thread).toLowerCase().includes(title));
  if (!found)
    throw new AgentError(
      "not-found",
      `There is no conversation "${oneLine(wanted, 60)}". /threads lists them.`,
    );
  // The run there continues.
  await chat.session.thread.switch({ threadId: found.id, abort: false });
  await chat.loaded();
}

const MAX_THREADS = 50;

function titleOf({ title, id }: AgentControllerThread): string {
  return oneLine(title ?? "", 60) || id;
}

function when(date: Date): string {
  const two = (part: number): string => String(part).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

async function runPermissions(chat: Chat, text: string): Promise<void> {
  const { permissions, state } = chat.session;
  const words = text.split(/\s+/).filter(Boolean);
  const policy = words.at(-1) ?? "";
  const name = words.slice(words[0] === "revoke" ? 1 : 0, words[0] === "revoke" ? undefined : -1).join(" ");
  if (words.length === 0) {
    const rules = permissions.getRules();
    const grants = permissions.getGrants();
    return list(chat, [
      ...(state.get()["yolo"] === true ? ["yolo: tools run without asking"] : []),
      ...Object.entries({ ...rules.categories, ...rules.tools }).map(([what, rule]) => `${rule}  ${what}`),
      ...[...grants.categories, ...grants.tools].map((what) => `granted  ${what}`),
      "Everything else asks first.",
    ]);
  }
  if (words[0] === "revoke" && name !== "")
    await permissions.revoke(
      CATEGORIES.includes(name) ? { categories: [name as ToolCategory] } : { tools: [name] },
    );
  else if (!POLICIES.includes(policy) || name === "")
    return chat.say(
      "Name a rule and a policy: /permissions edit allow, /permissions write_file(notes/*) ask",
    );
  else if (CATEGORIES.includes(name))
    await permissions.setForCategory({ category: name as ToolCategory, policy: policy as PermissionPolicy });
  else await permissions.setForTool({ toolName: name, policy: policy as PermissionPolicy });
  return runPermissions(chat, "");
}

/** The changes of this conversation, oldest first; `undefined` without a workspace. */
async function changesOf(chat: Chat): Promise<StoredChange[] | undefined> {
  const threadId = chat.session.thread.getId();
  if (!chat.open.workspace)
    return chat.say("This session has no workspace. `selvedge code` opens one.") as undefined;
  return threadId === null ? [] : chat.open.workspace.changes({ threadId });
}

async function runChanges(chat: Chat, word: string): Promise<void> {
  const changes = await changesOf(chat);
  if (!changes) return;
  if (word !== "") {
    const change = changes[Number(word) - 1];
    return chat.say(change ? `${describe(change)}\n${change.diff ?? "There is no diff."}` : NO_CHANGE);
  }
  const lines = changes.flatMap((change, index) => [
    `${index + 1}  ${describe(change)}`,
    ...diffOf({ id: "", name: "", args: {}, status: "done", result: { diff: change.diff } }).map(
      ({ sign, text }) => `     ${sign} ${text}`,
    ),
  ]);
  list(chat, lines, "No files were changed in this conversation.");
}

async function runUndo(chat: Chat, word: string): Promise<void> {
  const changes = await changesOf(chat);
  if (!changes) return;
  const last = changes.findLast(({ undoneAt }) => undoneAt === undefined);
  const change =
    word === ""
      ? last
      : changes.find(({ toolCallId }, index) => toolCallId === word || index + 1 === Number(word));
  if (!change) return chat.say(word === "" ? "There is nothing to undo." : NO_CHANGE);
  await chat.open.workspace!.undo(change);
  chat.say(`Undone: ${describe(change)}`);
}

const NO_CHANGE = "There is no such change. /changes lists them.";

function describe({ operation, path, added, removed, undoneAt }: StoredChange): string {
  return `${operation} ${oneLine(path)} (+${added} -${removed})${undoneAt ? ", undone" : ""}`;
}

function list(chat: Chat, lines: readonly string[], empty: string = "Nothing."): void {
  chat.say(lines.length === 0 ? empty : lines.map((line) => line.trimEnd()).join("\n"));
}

function mark(id: string, current: string): string {
  return id === current ? "* " : "  ";
}
