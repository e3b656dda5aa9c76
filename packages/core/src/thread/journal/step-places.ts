import type { StepRecord } from "../../run/run-journal.ts";
import type { Resumption } from "../../run/resume.ts";
import { setMessageMetadata } from "../../storage/message-writes.ts";
import type { Row, Write } from "../../storage/storage.ts";
import type { Thread } from "../hold/thread.ts";
import type { PlacedStep } from "./call-journal.ts";
import { storeStep } from "./open-step.ts";

/** Where the steps of a run are in the history: each is a part of a message and knows its number there. */
export class StepPlaces {
  /** The message that contains the stored steps, and their number. */
  #response: { id: string; steps: number } | undefined;
  #isClosed = false;

  /** Continues where a run stopped, if it did. */
  constructor(resumption: Resumption | undefined) {
    if (resumption?.responseId !== undefined)
      this.#response = { id: resumption.responseId, steps: resumption.responseSteps };
  }

  get responseId(): string | undefined {
    return this.#isClosed ? undefined : this.#response?.id;
  }

  writes({ threadId, resourceId }: Thread, step: StepRecord): Write[] {
    const { message, metadata } = step;
    const stored = storeStep({ ...message, threadId, resourceId }, this.#of(message.id), step.parts);
    return [
      stored,
      ...(metadata ? [setMessageMetadata(message.id, metadata)] : []),
      ...(step.also?.writes ?? []),
    ];
  }

  /** The position of a step, for the row of its run. */
  row(step: StepRecord): Row {
    return { response_id: step.message.id, response_steps: this.#of(step.message.id) };
  }

  place(step: StepRecord): PlacedStep {
    return { step, messageStep: this.#of(step.message.id) };
  }

  stored({ message }: StepRecord): void {
    this.#response = { id: message.id, steps: this.#of(message.id) + 1 };
    this.#isClosed = false;
  }

  /** What follows is a separate message. */
  close(): void {
    this.#isClosed = true;
  }

  #of(messageId: string): number {
    return this.#response?.id === messageId ? this.#response.steps : 0;
  }
}
