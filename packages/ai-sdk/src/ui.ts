export { toAISdkMessages, toAISdkMessages as toAISdkV5Messages } from "./to-ai-sdk-messages.ts";
