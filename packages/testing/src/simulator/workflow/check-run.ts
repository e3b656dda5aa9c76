import { isCountKey } from "./draw-flow.ts";
import { agentsOf, canonical, mayBail, type Value } from "./flow.ts";
import { type Expected, interpretFlow, UNKNOWN_OUTCOME } from "./interpret-flow.ts";
import { begunAt, type SimRun, type Witness, type WorkflowLedger } from "./workflow-ledger.ts";

/** A run as it is stored. */
export interface StoredRun {
  status: string;
  result?: Value;
  error?: unknown;
  steps?: Record<string, { status: string; output?: Value; payload?: Value; error?: unknown }>;
  state?: Record<string, Value>;
}

interface Surroundings {
  world: Witness & { readonly mayLoseSteps: boolean };
  ledger: WorkflowLedger;
}

/** How often a run is started without completing a step, at most. */
const MAX_ATTEMPTS = 5;
export const ENDS: ReadonlySet<string> = new Set(["success", "failed", "canceled"]);

/** The result, each step's output and the state are those of the interpreter. */
export function checkRun(run: SimRun, stored: StoredRun, around: Surroundings): void {
  const { world, ledger } = around;
  const wrong = (what: string): void => world.violate("W1", `${run.id} ${what}`);
  const { status } = stored;
  if (!ENDS.has(status)) return world.violate("I12", `${run.id} is ${status} at the end`);
  world.reached.add(`a run ended: ${status}`);
  const expected = interpretFlow(run.flow, run.input, ledger.oracle(run));
  const isUnknown = status === "failed" && messageOf(stored.error).includes(UNKNOWN_OUTCOME);
  if (isUnknown) checkUnknown(around, run);
  // An agent fails its step when the store fails under it.
  const isAgents = status === "failed" && messageOf(stored.error).startsWith("storage-failed");
  const isExcused =
    isUnknown || isAbandoned(run, stored) || (isAgents && world.mayLoseSteps && hasAgents(run));
  checkSteps(stored, expected, wrong);
  checkCancel(around, run, status);
  for (const name of run.executions.keys())
    if (!expected.mayBegin.has(name)) wrong(`executed ${name}, which its definition does not lead to`);
  if (status === "canceled" || isExcused) return;
  if (status !== expected.status)
    return wrong(`is ${status} (${messageOf(stored.error)}) and should be ${expected.status}`);
  if (status === "failed") {
    const message = messageOf(stored.error);
    if (![...expected.errors].some((error) => message.includes(error)))
      wrong(`failed with "${message}" and not with ${[...expected.errors].join(" or ")}`);
    return;
  }
  if (canonical(stored.result) !== canonical(expected.result))
    wrong(`resulted in ${canonical(stored.result)}, expected ${canonical(expected.result)}`);
  checkState(stored.state ?? {}, expected, wrong, { traveled: run.life > 0 });
  checkResumes(around, run);
  // One that failed may have failed at once, because of a step beside the target.
  checkTravels(around, run);
}

function checkSteps(
  { steps = {}, status }: StoredRun,
  expected: Expected,
  wrong: (what: string) => void,
): void {
  for (const [path, lists] of expected.lists) {
    const output = canonical(steps[path]?.output);
    const right = expected.beside.has(`list ${path}`) ? lists : lists.slice(-1);
    if (status === "success" && !right.some((list) => canonical(list) === output))
      wrong(`has ${output} as the list of ${path}, expected ${right.map(canonical).join(" or ")}`);
  }
  for (const [path, step] of Object.entries(steps)) {
    const known = expected.steps.get(path);
    // The input is listed, too, and what has no id of its own: mappings, agents and sleeps.
    if (step?.status !== "success" || !isStep(path) || isListed(expected, path, step.output)) continue;
    const match = known?.findLast(({ output }) => canonical(output) === canonical(step.output));
    if (!match)
      wrong(`has ${canonical(step.output)} of ${path}, expected ${canonical(known?.at(-1)?.output)}`);
    else if (status === "success" && match !== known?.at(-1) && !expected.beside.has(path))
      wrong(`has an old output of ${path}`);
    else if (step.payload !== undefined && canonical(step.payload) !== canonical(match.input))
      wrong(`has ${canonical(step.payload)} as the input of ${path}, expected ${canonical(match.input)}`);
  }
  if (status !== "success") return;
  for (const path of expected.steps.keys())
    if (steps[path]?.status !== "success") wrong(`has no result of ${path}`);
}

/** Its processes died so often without completing a step of it that it was given up, as documented. */
function isAbandoned({ takenInVain }: SimRun, { status, error }: StoredRun): boolean {
  return (
    status === "failed" &&
    messageOf(error).startsWith("attempts-exhausted") &&
    takenInVain >= MAX_ATTEMPTS - 1
  );
}

function hasAgents({ flow }: SimRun): boolean {
  return !agentsOf(flow).next().done;
}

function isStep(path: string): boolean {
  return /^[sf]\d+$/.test(path.slice(path.lastIndexOf(".") + 1));
}

/** The list of a `foreach`, or as much of it as there is. */
function isListed(expected: Expected, path: string, output: Value): boolean {
  return expected.lists.has(path) || Array.isArray(output);
}

function checkState(
  state: Record<string, Value>,
  expected: Expected,
  wrong: (what: string) => void,
  { traveled }: { traveled: boolean },
): void {
  const actual = { ...state };
  // State survives a time travel: counters include the executions of earlier lives.
  if (traveled)
    for (const key of Object.keys(actual).filter(isCountKey)) {
      if (!(key in expected.state)) delete actual[key];
      else actual[key] = expected.state[key];
    }
  for (const [key, values] of expected.loose)
    if (values.some((value) => canonical(value) === canonical(actual[key])))
      actual[key] = expected.state[key];
  if (canonical(actual) !== canonical(expected.state))
    wrong(`has the state ${canonical(actual)}, expected ${canonical(expected.state)}`);
}

/** No accepted item is lost, and one cancellation is enough. */
function checkCancel({ world }: Surroundings, run: SimRun, status: string): void {
  const accepted = run.cancels.some(
    ({ outcome, counts, life }) => outcome === "accepted" && counts === true && life === run.life,
  );
  if (run.cancels.some(({ outcome, first }) => outcome === "accepted" && first) && run.executions.size > 0)
    world.violate("W6", `${run.id} was canceled before anyone started it, and was executed`);
  const possible = run.cancels.some(({ outcome }) => outcome !== "refused");
  if (status === "canceled" && !possible)
    world.violate("W6", `${run.id} is canceled, and nobody asked for it`);
  if (status !== "canceled" && accepted)
    world.violate("I1", `the cancellation of ${run.id} was accepted, and it is ${status}`);
}

/** Each answer that was accepted led to an execution. */
function checkResumes({ world }: Surroundings, run: SimRun): void {
  const used = new Set([...run.executions.values()].flatMap(({ answers }) => answers));
  for (const { outcome, token, stepId, life } of run.resumes)
    if (outcome === "accepted" && life === run.life && !used.has(token) && !stepId.startsWith("a"))
      world.violate("I1", `${token} for ${stepId} of ${run.id} was accepted and is lost`);
}

/** A time travel executes the step that it names. */
function checkTravels({ world }: Surroundings, run: SimRun): void {
  if (mayBail(run.flow)) return;
  for (const { outcome, life, target, begun } of run.travels)
    if (
      outcome === "accepted" &&
      life + 1 === run.life &&
      !/(^|\/)a\d+$/.test(target) &&
      begunAt(run, target) <= begun
    )
      world.violate("W7", `${run.id} was to be executed again from ${target}, and was not`);
}

/** Only where something goes wrong can the outcome of a step be unknown, or where a run was canceled while it ran. */
function checkUnknown({ world }: Surroundings, run: SimRun): void {
  world.reached.add("the outcome of a step was unknown");
  const wasCanceled = run.life > 0 && run.cancels.some(({ outcome }) => outcome !== "refused");
  if (!world.mayLoseSteps && !wasCanceled)
    world.violate("W4", `${run.id} has an unknown outcome, and nothing went wrong`);
}

function messageOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return String(error);
  const { message, code } = error as { message?: string; code?: string };
  return `${code ?? ""} ${message ?? ""}`;
}
