import type { ProcessorContext } from "./processor.ts";

/** The argument of `onViolation` and `onDetection`. */
export interface ProcessorViolation {
  processorId: string;
  message: string;
  /** What was found, and where. */
  detail: Record<string, unknown>;
}

export type ViolationCallback = (violation: ProcessorViolation) => unknown;

/** Reports a violation to the app and waits. Errors of the callback are logged. */
export async function report(
  callback: ViolationCallback | undefined,
  violation: ProcessorViolation,
  { logger }: Pick<ProcessorContext, "logger">,
): Promise<void> {
  if (!callback) return;
  try {
    await callback(violation);
  } catch (error) {
    logger.warn(`A callback of processor "${violation.processorId}" threw`, error);
  }
}
