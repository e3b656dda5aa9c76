import type { StepRecord } from "../../run/run-journal.ts";
import { setMessageMetadata } from "../../storage/message-writes.ts";
import type { Row, Write } from "../../storage/storage.ts";
import type { Thread } from "../hold/thread.ts";
import type { PlacedStep } from "./call-journal.ts";
import { storeStep } from "./open-step.ts";

/** Where the steps of a run are in the history: each is a part of a message and knows its number there. */
export class StepPlaces {
  /** The number of stored steps in each message. */
  #stored = new Map<string, number>();
  /** The message that contains the stored steps, until signals follow it. */
  responseId: string | undefined;

  /** Continues where a run stopped. */
  continue(stored: Map<string, number>): void {
    this.#stored = stored;
    this.responseId = [...stored.keys()].at(-1);
  }

  writes({ threadId, resourceId }: Thread, step: StepRecord): Write[] {
    const { message, metadata } = step;
    const stored = storeStep({ ...message, threadId, resourceId }, this.#of(message.id), step.parts);
    return [stored, ...(metadata ? [setMessageMetadata(message.id, metadata)] : []), ...(step.also ?? [])];
  }

  /** The position of a step, for the row of its run. */
  row(step: StepRecord): Row {
    return { response_id: step.message.id, response_steps: this.#of(step.message.id) };
  }

  place(step: StepRecord): PlacedStep {
    return { step, messageStep: this.#of(step.message.id) };
  }

  stored({ message }: StepRecord): void {
    this.#stored.set(message.id, this.#of(message.id) + 1);
  }

  #of(messageId: string): number {
    return this.#stored.get(messageId) ?? 0;
  }
}
