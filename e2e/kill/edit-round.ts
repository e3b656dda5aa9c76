import type { ScriptedReply } from "@selvedge/testing";
import type { StorePlace } from "./store-factory.ts";

export const THREAD = { threadId: "files", resourceId: "person" } as const;

/** Where the process dies: around a commit, or around the operation that makes a change visible. */
export interface EditPoint {
  name: "intent" | "progress" | "act" | "step";
  when: "before" | "after";
  nth: number;
}

export interface EditConfig {
  store: StorePlace;
  /** The folder of the workspace. */
  root: string;
}

/** What a parent tells the process: the next round, and where to die in it. */
export interface EditRound {
  round: number;
  kill: EditPoint;
}

/** The calls of a round, one after another. */
const STEPS = [
  // A person may have changed it since the last round.
  () => ({ toolName: "mastra_workspace_read_file", input: { path: "log.txt" } }),
  (round: number) => ({
    toolName: "mastra_workspace_edit_file",
    input: { path: "log.txt", old_string: "END", new_string: `round ${round}\nEND` },
  }),
  (round: number) => ({
    toolName: "mastra_workspace_write_file",
    input: { path: `made/${round}.txt`, content: `content ${round}\n`.repeat(1000) },
  }),
  (round: number) => ({ toolName: "mastra_workspace_mkdir", input: { path: `dirs/${round}/deep` } }),
  (round: number) => ({ toolName: "mastra_workspace_delete", input: { path: `old/${round}.txt` } }),
  (round: number) => ({
    toolName: "mastra_workspace_delete",
    input: { path: `trees/${round}`, recursive: true },
  }),
];
/** How many of them change something. */
export const CHANGES: number = STEPS.length - 1;

/** Calls the next tool of the newest round, or says that it is over. */
export function editScript(prompt: readonly { role: string; content: unknown }[]): ScriptedReply {
  const start = prompt.findLastIndex(({ role }) => role === "user");
  const round = Number(/round (\d+)/.exec(JSON.stringify(prompt[start]!.content))![1]);
  const done = prompt.slice(start).filter(({ role }) => role === "tool").length;
  const call = STEPS[done]?.(round);
  return call ? { toolCalls: [{ ...call, toolCallId: `${round}-${done}` }] } : { text: ["Done."] };
}
