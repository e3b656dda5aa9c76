import type { ProcessorContext } from "./processor.ts";

/** What `onViolation` and `onDetection` are told. */
export interface ProcessorViolation {
  processorId: string;
  message: string;
  /** What was found, and where. */
  detail: Record<string, unknown>;
}

export type ViolationCallback = (violation: ProcessorViolation) => unknown;

/** Tells the app of a violation and waits for it. What the callback throws is logged. */
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
