import { AgentError, errorMessage, showValue } from "../errors.ts";
import { isPromise } from "../is-promise.ts";
import type { ForeachPlan, Work } from "./driver.ts";
import type { Path } from "./path.ts";
import type { StepContext } from "./step.ts";

export type ChoiceWork = Exclude<Work, { kind: "step" }>;

interface ChoiceLimits {
  now: number;
  items: number;
  /** Whether a nested workflow was entered before. */
  hasBegun(path: Path): boolean;
}

/**
 * Makes a choice: evaluates a mapping, a condition, the array of a `foreach`, the time of a sleep, or checks the input of a
 * nested workflow. A choice is made once; its result is stored. Asynchronous only if the app's function is.
 */
export function choose(work: ChoiceWork, context: () => StepContext, limits: ChoiceLimits): unknown {
  switch (work.kind) {
    case "enter": {
      const { scope } = work.node;
      const { data } = work.input;
      if (!scope.validateInputs) return data;
      const checked = () =>
        scope.schemas.check(scope.inputSchema, data, `input data of workflow "${scope.id}"`);
      // A time travel began inside it and skipped what is before it: no one knows its input.
      return data === undefined && limits.hasBegun(work.path) ? orNothing(checked) : checked();
    }
    case "map":
      return work.node.map(context());
    case "sleep":
      return dueTime(work.node, context, limits.now);
    case "loop":
      return then(
        ask(`the ${work.node.type} condition of step "${work.node.body.id}"`, () =>
          work.node.condition(Object.assign(context(), { iterationCount: work.iteration })),
        ),
        Boolean,
      );
    case "branch":
      return chooseMembers(work.node, context());
    case "foreach":
      return planItems(work, context, limits.items);
  }
}

function orNothing(check: () => unknown): unknown {
  try {
    const checked = check();
    return isPromise(checked) ? Promise.resolve(checked).catch(() => undefined) : checked;
  } catch {
    return undefined;
  }
}

function chooseMembers(node: Extract<Work, { kind: "branch" }>["node"], context: StepContext): unknown {
  const asked = Object.assign(context, { iterationCount: 0 });
  const ids = node.members.map(({ id }) => id);
  const answers: unknown[] = [];
  try {
    for (const [index, condition] of node.conditions.entries())
      answers.push(ask(`the condition of branch "${ids[index]}"`, () => condition(asked)));
  } catch (error) {
    // The others may fail as well, later, and no one waits for them.
    for (const answer of answers) Promise.resolve(answer).catch(() => {});
    throw error;
  }
  const pick = (all: readonly unknown[]): string[] => ids.filter((_, index) => Boolean(all[index]));
  return answers.some(isPromise)
    ? Promise.all(answers.map((answer) => Promise.resolve(answer))).then(pick)
    : pick(answers);
}

function planItems(
  { node, input }: Extract<Work, { kind: "foreach" }>,
  context: () => StepContext,
  items: number,
): ForeachPlan {
  const { id } = node.body;
  const list = input.data;
  if (!Array.isArray(list))
    throw new AgentError(
      "invalid-argument",
      `foreach over step "${id}" needs an array, got ${showValue(list)}. Return one from the step before it.`,
    );
  if (list.length > items)
    throw new AgentError(
      "limit-exceeded",
      `foreach over step "${id}" got ${list.length} items; at most ${items} are allowed.`,
    );
  const { concurrency } = node;
  const given =
    typeof concurrency === "function"
      ? ask(`the concurrency of foreach over step "${id}"`, () =>
          concurrency({ inputData: list, getInitData: () => context().getInitData() }),
        )
      : concurrency;
  return { count: list.length, concurrency: checkConcurrency(id, given) };
}

export function checkConcurrency(id: string, concurrency: unknown): number {
  if (Number.isInteger(concurrency) && (concurrency as number) >= 1) return concurrency as number;
  throw new AgentError(
    "invalid-argument",
    `The concurrency of foreach over step "${id}" must be an integer of 1 or more, got ${showValue(concurrency)}.`,
  );
}

/** The latest time that a Date can have. */
const LATEST = 8.64e15;

function dueTime(
  { id, sleep }: Extract<Work, { kind: "sleep" }>["node"],
  context: () => StepContext,
  now: number,
): unknown {
  const given = "ms" in sleep ? sleep.ms : sleep.until;
  const value = typeof given === "function" ? ask(`sleep "${id}"`, () => given(context())) : given;
  return then(value, (answer) => {
    const due = "ms" in sleep ? now + (answer as number) : Number(answer as Date);
    const isTime = "ms" in sleep ? typeof answer === "number" : answer instanceof Date;
    // A later time could not be stored.
    if (isTime && Math.abs(due) <= LATEST) return Math.ceil(due);
    const wanted = "ms" in sleep ? "a number of milliseconds" : "a valid Date";
    throw new AgentError("invalid-argument", `${id} must be ${wanted}, got ${showValue(answer)}.`);
  });
}

/** Calls a function of the app. What it throws names the place. */
function ask<Answer>(what: string, call: () => Answer): Answer {
  const rethrow = (cause: unknown): never => {
    throw new AgentError("internal", `${upper(what)} failed: ${errorMessage(cause)}`, { cause });
  };
  try {
    const answer = call();
    return isPromise(answer) ? (Promise.resolve(answer).catch(rethrow) as Answer) : answer;
  } catch (cause) {
    return rethrow(cause);
  }
}

function then(answer: unknown, use: (value: unknown) => unknown): unknown {
  return isPromise(answer) ? Promise.resolve(answer).then(use) : use(answer);
}

function upper(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
