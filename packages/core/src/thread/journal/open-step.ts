import type { MessagePart, StoredMessage, Usage } from "@selvedge/protocol";
import { putFirstStep, putStep } from "../../storage/message-writes.ts";
import type { Write } from "../../storage/storage.ts";

/**
 * A step whose tools are about to run, as the row of its run holds it until the results are there. The history gets a
 * step when it is whole, or waits for somebody.
 */
export interface OpenStep {
  messageId: string;
  /** Which step of its message it will be. */
  messageStep: number;
  parts: MessagePart[];
  /** The calls that were about to run. */
  started: string[];
  /** What the model's reply has cost. It is counted with the step. */
  usage?: Usage;
}

/** Puts a step into the history, in its place. */
export function storeStep(
  message: StoredMessage & { threadId: string },
  messageStep: number,
  parts: readonly MessagePart[],
): Write {
  if (messageStep === 0) return putFirstStep(message, parts);
  return putStep({ messageId: message.id, threadId: message.threadId, step: messageStep, parts });
}
