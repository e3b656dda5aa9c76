import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";
import type { RunJournal } from "./run-journal.ts";

/**
 * Input may contain results of calls that an earlier run left to the client. Each is added to its call, so that the
 * prompt has every call once, with one result. Returns the stored messages that changed.
 */
export async function joinAnswers(
  list: MessageList,
  journal: RunJournal | undefined,
): Promise<StoredMessage[]> {
  const answers = new Map<string, { message: StoredMessage; call: ToolInvocation }>();
  for (const message of list.get.input.db()) {
    for (const call of callsOf(message))
      if (ANSWERED.has(call.state)) answers.set(call.toolCallId, { message, call });
  }
  if (answers.size === 0) return [];
  const remembered = list.get.remembered.db();
  const known = new Set(remembered.map((message) => message.id));
  const unread = ((await journal?.history.recent()) ?? []).filter((message) => !known.has(message.id));
  const changed: StoredMessage[] = [];
  for (const earlier of [...unread, ...remembered]) {
    let answered = false;
    for (const call of callsOf(earlier)) {
      const answer = answers.get(call.toolCallId);
      if (!answer) continue;
      if (call.state === "call") {
        const { state, result, isError, modelOutput } = answer.call;
        Object.assign(call, {
          state,
          result,
          ...(isError && { isError }),
          ...(modelOutput !== undefined && { modelOutput }),
        });
        answered = true;
      }
      // The same message sent again is shown as sent; another one loses its part to the earlier one.
      if (earlier.id === answer.message.id) continue;
      if (!known.has(earlier.id)) list.prepend([earlier]);
      dropCall(list, answer.message, call.toolCallId);
    }
    if (answered) changed.push(earlier);
  }
  list.invalidate();
  return changed;
}

const ANSWERED: ReadonlySet<string> = new Set(["result", "output-error"]);

function callsOf(message: StoredMessage): ToolInvocation[] {
  if (message.role !== "assistant") return [];
  return message.content.parts.flatMap((part) =>
    part.type === "tool-invocation" ? part.toolInvocation : [],
  );
}

function dropCall(list: MessageList, message: StoredMessage, toolCallId: string): void {
  const { content } = message;
  content.parts = content.parts.filter(
    (part) => part.type !== "tool-invocation" || part.toolInvocation.toolCallId !== toolCallId,
  );
  if (content.parts.every((part) => part.type === "step-start")) list.removeByIds([message.id]);
}
