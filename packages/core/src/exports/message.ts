export { MessageList, type MessageSource, type MessageView } from "../message/message-list.ts";
export type { FilePart, MessageLike, MessagesInput, TextPart } from "../message/message-input.ts";
export type { ModelMessage, ModelPrompt } from "../message/model-message.ts";
export { toUIMessage, type UIMessage, type UIMessagePart } from "../message/to-ui-message.ts";
export type { Instructions, SystemMessage } from "../message/system-message.ts";
