import type { Logger } from "../logger.ts";
import type { OpenQuestion } from "./open-questions.ts";
import { WITHDRAW } from "./step.ts";

/**
 * Tells those whom the steps of a run asked that no answer will come. Returns whether some may not know yet: then it is
 * repeated until all do. Never throws: problems are logged.
 */
export async function withdrawQuestions(open: readonly OpenQuestion[], logger: Logger): Promise<boolean> {
  let isOpen = false;
  for (const { step, question } of open)
    try {
      if (await step[WITHDRAW]!(question)) isOpen = true;
    } catch (error) {
      isOpen = true;
      logger.warn(`"${question.idempotencyKey}" is over, but what it waited for could not be ended`, error);
    }
  return isOpen;
}
