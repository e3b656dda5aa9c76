import type { ProviderMetadata } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";

/** One system message. `role` is checked at run time, so an object literal typed as `string` is accepted. */
export interface SystemMessage {
  role: "system";
  content: string;
  providerOptions?: ProviderMetadata;
}

interface SystemMessageLike {
  role: string;
  content: string;
  providerOptions?: Record<string, Record<string, unknown>> | undefined;
}

/** Instructions in any accepted form. */
export type Instructions = string | SystemMessageLike | readonly (string | SystemMessageLike)[];

/** Instructions as separate system messages, in order, each with its own provider options. */
export function toSystemMessages(instructions: Instructions | undefined): SystemMessage[] {
  if (instructions === undefined) return [];
  const list = Array.isArray(instructions) ? instructions : [instructions as string | SystemMessageLike];
  const messages: SystemMessage[] = [];
  for (const item of list) {
    if (typeof item === "string") {
      if (item !== "") messages.push({ role: "system", content: item });
    } else if (item && item.role === "system" && typeof item.content === "string") {
      messages.push({
        role: "system",
        content: item.content,
        ...(item.providerOptions && { providerOptions: item.providerOptions as ProviderMetadata }),
      });
    } else {
      throw new AgentError(
        "invalid-argument",
        `Instructions must be strings or { role: "system", content: string } objects, got ${showValue(item)}.`,
      );
    }
  }
  return messages;
}
