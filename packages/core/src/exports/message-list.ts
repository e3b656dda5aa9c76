// The names of @mastra/core/agent/message-list.
export { convertMessages } from "../switching/convert-messages.ts";
export { MessageList } from "../message/message-list.ts";
export type { MessagesInput, MessagesInput as MessageListInput } from "../message/message-input.ts";
export type { StoredMessage, StoredMessage as MastraDBMessage } from "@selvedge/protocol";
