import type { JSONValue, MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import { putFirstStep, putStep } from "../../storage/message-writes.ts";
import type { Write } from "../../storage/storage.ts";

/**
 * A step whose tools are about to run, as kept in its run's row until the results are there. The history gets a step
 * when it is complete, or waits for a person.
 */
export interface OpenStep {
  messageId: string;
  /** Its position in its message. */
  messageStep: number;
  parts: MessagePart[];
  /** The calls that were about to run. */
  started: string[];
  /** What these calls saved while they ran. */
  progress?: Record<string, JSONValue>;
  /** The cost of the model's reply. It is counted with the step. */
  usage?: Usage;
}

/** Adds a step to the history, at its position. */
export function storeStep(
  message: StoredMessage & { threadId: string },
  messageStep: number,
  parts: readonly MessagePart[],
): Write {
  if (messageStep === 0) return putFirstStep(message, parts);
  return putStep({ messageId: message.id, threadId: message.threadId, step: messageStep, parts });
}
