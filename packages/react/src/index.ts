export type { Approval } from "./approval.ts";
// Hooks
export { useChat } from "./use-chat.ts";
export type { ChatMessageInput, ToolCallStatus, UseChatOptions, UseChatResult } from "./use-chat.ts";
export { useThread } from "./use-thread.ts";
export type { UseThreadOptions, UseThreadResult } from "./use-thread.ts";
export {
  MastraReactProvider,
  type MastraReactProviderProps,
  useMastraClient,
} from "./mastra-react-provider.ts";

// A live thread for any kind of page
export { ThreadStore } from "./thread-store.ts";
export type { ThreadStoreOptions } from "./thread-door.ts";
export type { ThreadSnapshot } from "./thread-model.ts";
export type { SendOptions } from "./thread-sender.ts";
export { fromStored, type MessageState, type ThreadMessage } from "./thread-message.ts";
