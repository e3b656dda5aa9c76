import { defaultLogger, type Logger } from "../logger.ts";
import { parsePath } from "./path.ts";
import type { RunImage } from "./run-image.ts";
import { type Question, type Step, WITHDRAW } from "./step.ts";
import { stepAt } from "./step-at.ts";
import type { Definition } from "./workflow-engine.ts";

/** Tells the suspended steps of a canceled run that no answer will come. Never throws: problems are logged. */
export async function withdrawQuestions(
  { rules, host }: Pick<Definition, "rules" | "host">,
  { runId, records }: Pick<RunImage, "runId" | "records">,
): Promise<void> {
  const logger = host?.logger ?? defaultLogger;
  for (const { path, status, suspend, attempt } of records) {
    if (status !== "suspended") continue;
    const question = { idempotencyKey: `${runId}/${path}`, suspendData: suspend?.payload, attempt };
    const find = (): Step | undefined => {
      const ids = parsePath(path).map(({ id }) => id);
      return stepAt(rules.graph, ids, host);
    };
    await withdrawQuestion(find, question, logger);
  }
}

export async function withdrawQuestion(
  find: () => Step | undefined,
  question: Question,
  logger: Logger,
): Promise<void> {
  try {
    await find()?.[WITHDRAW]?.(question);
  } catch (error) {
    logger.warn(`"${question.idempotencyKey}" was canceled, but what it waited for was not`, error);
  }
}
