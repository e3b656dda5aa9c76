import type { StoredMessage } from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";

/** What hooks after the model call return: the messages, changed or not. */
export type ProcessorMessageResult = MessageList | StoredMessage[] | Promise<MessageList | StoredMessage[]>;
