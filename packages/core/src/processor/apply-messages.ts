import type { StoredMessage } from "@selvedge/protocol";
import { MessageList, type MessageSource } from "../message/message-list.ts";
import type { ProcessInputResult, ProcessInputStepArgs, StepOverrides } from "./processor.ts";

/** The arguments of a hook that come from the run's messages. */
export function listArgs(
  list: MessageList,
): Pick<ProcessInputStepArgs, "messages" | "messageList" | "systemMessages"> {
  return { messages: list.get.all.db(), messageList: list, systemMessages: list.getSystemMessages() };
}

/** Makes the messages that a hook returned those of the run. */
export function applyMessages(list: MessageList, result: ProcessInputResult, source: MessageSource): void {
  if (!result || result instanceof MessageList) return;
  const messages: StoredMessage[] = Array.isArray(result) ? result : result.messages;
  if (!Array.isArray(messages)) return;
  list.replace(messages, source);
  if (!Array.isArray(result) && result.systemMessages) list.setSystemMessages(result.systemMessages);
}

/** The same for the changes of a step. Returns the rest of them. */
export function applyOverrides(
  list: MessageList,
  result: MessageList | StoredMessage[] | StepOverrides | undefined | void,
): Omit<StepOverrides, "messages" | "systemMessages"> {
  if (!isOverrides(result)) {
    applyMessages(list, result, "input");
    return {};
  }
  const { messages, systemMessages, messageList: _, ...rest } = result;
  applyMessages(list, messages && { messages, ...(systemMessages && { systemMessages }) }, "input");
  if (systemMessages && !messages) list.setSystemMessages(systemMessages);
  return rest;
}

function isOverrides(result: unknown): result is StepOverrides {
  return (
    typeof result === "object" &&
    result !== null &&
    !Array.isArray(result) &&
    !(result instanceof MessageList)
  );
}
