import { convertMessages } from "@selvedge/core/agent";

/** Converts stored messages, such as those of `memory.recall()`, to messages for `useChat`. */
export function toAISdkMessages(messages: any): any[] {
  return convertMessages(messages).to("AIV5.UI");
}
