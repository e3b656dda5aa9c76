import { type CreatedAgentSignal, createSignal as create, type SignalInput } from "../signal/signal.ts";
import { realSystem } from "../system.ts";

/** Validates a signal and gives it an id, for a program that sends it later. */
export function createSignal(input: SignalInput): CreatedAgentSignal {
  return create(input, realSystem);
}
