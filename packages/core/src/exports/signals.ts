// The names of @mastra/core/signals.
export { createSignal } from "../switching/create-signal.ts";
export type { CreatedAgentSignal, SignalInput } from "../signal/signal.ts";
