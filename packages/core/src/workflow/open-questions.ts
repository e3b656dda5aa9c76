import { Driver } from "./driver.ts";
import { Journal, type StepRecord } from "./journal.ts";
import { parsePath, type Path } from "./path.ts";
import { isEnd, type KeptQuestion, type RunImage } from "./run-image.ts";
import { type Question, type Step, WITHDRAW } from "./step.ts";
import { stepAt } from "./step-at.ts";
import type { Continuation, Definition } from "./workflow-engine.ts";

/** Something that a step of a run asked elsewhere, such as an agent, and that ends with the run. */
export interface OpenQuestion {
  step: Step;
  question: Question;
}

type Steps = Pick<Definition, "rules" | "host">;

/** A run whose steps may have asked something. */
interface Asking extends Pick<RunImage, "runId" | "firstSeq"> {
  records: Iterable<StepRecord>;
  dropped?: readonly KeptQuestion[] | undefined;
}

/**
 * What the steps of a run that is over may still wait for: those that are suspended, those that were in progress, and
 * those that a time travel dropped, as it may have failed to withdraw what they asked.
 */
export function openQuestions(
  definition: Steps,
  { runId, records, firstSeq, dropped }: Asking,
  active: Iterable<Path>,
): OpenQuestion[] {
  const found = keptQuestions(definition, { runId, dropped });
  const add = (path: Path, rest: (step: Step) => Omit<Question, "idempotencyKey">): void => {
    const step = questioner(definition, path);
    if (step) found.push({ step, question: { idempotencyKey: `${runId}/${path}`, ...rest(step) } });
  };
  const answered = new Map<Path, unknown>();
  const failed: Path[] = [];
  for (const { path, status, suspend, attempt } of records)
    if (status === "suspended") add(path, () => ({ suspendData: suspend?.payload, attempt }));
    else {
      // It failed before its answer arrived there, or before it knew that it asked.
      if (status === "failed") failed.push(path);
      if ((status === "resumed" || status === "failed") && suspend) answered.set(path, suspend.payload);
    }
  for (const path of [...active, ...failed]) {
    const attempt = ({ retries = definition.rules.retryConfig.attempts }: Step): number => retries + 1;
    add(path, (step) => ({ suspendData: undefined, attempt: attempt(step), life: firstSeq }));
    // The question may be from before a time travel.
    if (answered.has(path))
      add(path, (step) => ({ suspendData: answered.get(path), attempt: attempt(step) }));
  }
  return found;
}

/** What a time travel leaves without an answer: its steps are executed again, or not at all. */
export function droppedQuestions(
  definition: Steps,
  image: RunImage,
  { drop, records }: Pick<Continuation, "drop" | "records">,
): OpenQuestion[] {
  const dropped = new Set(drop);
  // This question gets its answer.
  for (const { path, status } of records) if (status === "resumed") dropped.delete(path);
  const asked = image.records.filter(({ path }) => dropped.has(path));
  return openQuestions(
    definition,
    { ...image, records: asked },
    isEnd(image.status) ? activeSteps(definition, image) : [],
  );
}

/** Questions as a run keeps them, for the process that takes it up if this one dies before all know. */
export function toKept(open: readonly OpenQuestion[]): KeptQuestion[] {
  return open.map(({ question: { idempotencyKey, suspendData, attempt, life } }) => {
    const asked = (suspendData as { life?: number } | undefined)?.life;
    return { idempotencyKey, attempt, life: asked ?? life ?? 1 };
  });
}

/** What a run that is over and has no process may still wait for. */
export function questionsOf(definition: Definition, image: RunImage): OpenQuestion[] {
  const { dropped } = image.options;
  return openQuestions(definition, { ...image, dropped }, activeSteps(definition, image));
}

/** What the last time travel of a run dropped. */
export function keptQuestions(
  definition: Steps,
  { runId, dropped = [] }: Pick<Asking, "runId" | "dropped">,
): OpenQuestion[] {
  return dropped.flatMap((kept) => {
    const step = questioner(definition, kept.idempotencyKey.slice(runId.length + 1));
    return step ? [{ step, question: { ...kept, suspendData: undefined } }] : [];
  });
}

/** The step at a path, if it asks questions elsewhere. */
export function questioner({ rules, host }: Steps, path: Path): Step | undefined {
  try {
    const parts = parsePath(path);
    if (parts.some(({ isChoice }) => isChoice)) return undefined;
    const step = stepAt(
      rules.graph,
      parts.map(({ id }) => id),
      host,
    );
    return step?.[WITHDRAW] && step;
  } catch {
    // It is found by an id that the host no longer has.
    return undefined;
  }
}

/** Steps that may have been in progress when a run was last stored. */
function activeSteps({ rules }: Pick<Definition, "rules">, { input, records }: RunImage): Path[] {
  const journal = new Journal(records);
  const driver = new Driver(rules, input, (path) => journal.stored(path));
  const steps: Path[] = [];
  for (;;) {
    const { ready } = driver.take();
    if (ready.length === 0) return steps;
    for (const work of ready) {
      if (work.kind === "step") steps.push(work.path);
      // Its input was checked when it was entered.
      else if (work.kind === "enter") driver.succeeded(work.path, work.input);
    }
  }
}
