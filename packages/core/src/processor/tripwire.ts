import { errorMessage } from "../errors.ts";
import type { AbortOptions } from "./processor.ts";

/** Thrown by a processor's `abort()`. It is an outcome of the run, so it never leaves the loop as an error. */
export class Tripwire {
  readonly reason: string;
  readonly retry: boolean;
  readonly metadata: unknown;
  readonly processorId: string;

  constructor(processorId: string, reason: string | undefined, options: AbortOptions | undefined) {
    this.processorId = processorId;
    this.reason = reason === undefined ? `Stopped by processor "${processorId}".` : errorMessage(reason);
    this.retry = options?.retry ?? false;
    this.metadata = options?.metadata;
  }
}
