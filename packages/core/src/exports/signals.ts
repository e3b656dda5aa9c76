// The names of @mastra/core/signals.
export {
  isSignalProvider,
  SignalProvider,
  type SignalProviderTarget,
  type SignalProviderWebhookRequest,
  type SignalSubscription,
} from "../agent/signal-provider.ts";
export {
  WebhookSignalProvider,
  type WebhookSignalProviderOptions,
} from "../agent/webhook-signal-provider.ts";
export { TaskSignalProvider } from "../agent-controller/task-signal-provider.ts";
export { createSignal } from "../switching/create-signal.ts";
export type { CreatedAgentSignal, SignalInput } from "../signal/signal.ts";
