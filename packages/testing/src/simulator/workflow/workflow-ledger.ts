import type { Write } from "@selvedge/core/storage";
import type { Execution } from "./build-flow.ts";
import { canonical, type FlowDef, type StepDef, type Value } from "./flow.ts";
import { executionKey, type FlowOracle } from "./interpret-flow.ts";

type Outcome = "pending" | "accepted" | "refused" | "unsure";

/** A process, as far as somebody who asked it for something can tell. */
interface Asked {
  readonly name: string;
  readonly alive: boolean;
}

/** Something that somebody asked for, and what became of it as far as they know. */
export interface Request {
  process: Asked;
  outcome: Outcome;
}

/** A request that counts only for the run as it was: a time travel begins another life. */
interface LivingRequest extends Request {
  life: number;
}

export interface TravelRequest extends LivingRequest {
  /** The step it is for, as a path. */
  target: string;
  /** How often executions at the target had begun before. */
  begun: number;
}

/** Whoever writes down what is wrong, and which states were reached. */
export interface Witness {
  readonly reached: Set<string>;
  note(text: () => string): void;
  violate(invariant: string, message: string): void;
}

export interface ResumeRequest extends LivingRequest {
  token: string;
  /** The step it is for. */
  stepId: string;
}

/** All executions of one step with one input. */
interface ExecutionRecord {
  step: StepDef;
  /** The input as it was, with the parts that are another each time. */
  input: string;
  key: string;
  starts: Map<string, number>;
  /** The answers of the execution that was resumed most often. */
  answers: readonly string[];
  kept: Map<string, number>;
}

export interface SimRun {
  id: string;
  flow: FlowDef;
  input: Value;
  starts: Request[];
  resumes: ResumeRequest[];
  /** `counts`: the run was not over when it was accepted. `first`: nobody had asked for a start before it was. */
  cancels: (LivingRequest & { counts?: boolean; first?: boolean })[];
  travels: TravelRequest[];
  /** How often it was executed again from a step. */
  life: number;
  /** The number of the first event of this life. */
  firstSeq: number;
  /** Paths with a row in the journal. */
  stored: Set<string>;
  /** The state as it is stored, and as a time travel left it. */
  state: Record<string, Value>;
  left: Record<string, Value>;
  /** How often it was taken from a process that was gone since a step of it was last stored. */
  takenInVain: number;
  /** How often executions at a path began, in all lives. */
  begun: Map<string, number>;
  executions: Map<string, ExecutionRecord>;
  /** The step and input of each key that the engine gave. */
  keys: Map<string, string>;
}

/** What the world outside saw of the runs in it. */
export class WorkflowLedger {
  readonly runs: SimRun[] = [];
  readonly #world: Witness;

  constructor(world: Witness) {
    this.#world = world;
  }

  run(id: string): SimRun {
    return this.runs.find((run) => run.id === id)!;
  }

  newRun(id: string, flow: FlowDef, input: Value): SimRun {
    const run: SimRun = {
      id,
      flow,
      input,
      starts: [],
      resumes: [],
      cancels: [],
      travels: [],
      life: 0,
      firstSeq: 1,
      stored: new Set(),
      state: {},
      left: {},
      takenInVain: 0,
      begun: new Map(),
      executions: new Map(),
      keys: new Map(),
    };
    this.runs.push(run);
    return run;
  }

  began(processName: string, { runId, step, key, input, round, retryCount, answers }: Execution): void {
    const world = this.#world;
    const run = this.run(runId);
    const name = executionKey(step.id, input);
    const path = pathOf(run, key);
    run.begun.set(path, (run.begun.get(path) ?? 0) + 1);
    world.note(
      () => `${processName} executes ${step.id} of ${runId} (${name}, round ${round}, retry ${retryCount})`,
    );
    const text = JSON.stringify(input);
    let record = run.executions.get(name);
    if (!record) {
      record = { step, input: text, key, starts: new Map(), answers: [], kept: new Map() };
      run.executions.set(name, record);
      if (run.keys.has(key)) world.violate("W3", `${name} and ${run.keys.get(key)} of ${runId} have one key`);
      run.keys.set(key, name);
    }
    if (record.key !== key) world.violate("W3", `${name} of ${runId} has the keys ${record.key} and ${key}`);
    if (record.input !== text)
      world.violate(
        "W1",
        `${step.id} of ${runId} got ${text} after ${record.input}: a choice was made twice`,
      );
    const start = `${round}/${retryCount}`;
    const times = (record.starts.get(start) ?? 0) + 1;
    record.starts.set(start, times);
    if (times > 1) world.reached.add("a step was executed again");
    if (times > 1 && !step.idempotent)
      world.violate("W4", `${step.id} of ${runId} may run once, and began ${times} times`);
    if (round > 0) world.reached.add("a step was resumed");
    if (retryCount > 0) world.reached.add("a step was retried");
    const known = Math.min(answers.length, record.answers.length);
    if (canonical(answers.slice(0, known)) !== canonical(record.answers.slice(0, known)))
      world.violate(
        "W5",
        `${name} of ${runId} was resumed with ${answers.join()} and ${record.answers.join()}`,
      );
    if (answers.length > record.answers.length) record.answers = answers;
    if (new Set(answers).size < answers.length)
      world.violate("W5", `${name} of ${runId} got one answer twice: ${answers.join()}`);
    for (const token of answers) {
      const request = run.resumes.find((one) => one.token === token);
      if (!request) world.violate("W5", `${name} of ${runId} got the answer "${token}", which nobody gave`);
      else if (request.stepId !== step.id)
        world.violate("W5", `${name} of ${runId} got ${token}, which was for ${request.stepId}`);
      else if (request.outcome === "refused")
        world.violate("W5", `${name} of ${runId} got ${token}, which was refused`);
    }
  }

  /** A commit took effect. */
  committed(writes: readonly Write[]): void {
    for (const write of writes) {
      const run = this.runs.find(({ id }) => id === runIdOf(write));
      if (!run) continue;
      const stored = storedPaths(write);
      for (const path of stored) run.stored.add(path);
      if (stored.length > 0) run.takenInVain = 0;
      if (write.table.name === STATE && write.op === "insert")
        run.state[write.row["key"] as string] = write.row["value"];
      if (write.table.name === RUNS && write.op === "update" && write.set?.["attempts"]) run.takenInVain++;
      if (write.table.name === STEPS && write.op === "delete")
        for (const path of (write.where["path"] as { in: string[] } | undefined)?.in ?? [])
          run.stored.delete(path);
    }
    for (const write of writes) {
      if (write.table.name !== RUNS || write.op !== "update" || write.set?.["first_seq"] === undefined)
        continue;
      const run = this.runs.find(({ id }) => id === runIdOf(write));
      if (run) this.#travels(run, write.set["first_seq"] as number);
    }
  }

  /** A time travel: what it keeps was executed, and the rest is executed as if for the first time. */
  #travels(run: SimRun, firstSeq: number): void {
    this.#world.note(() => `${run.id} is executed again, from event ${firstSeq}`);
    run.life++;
    run.firstSeq = firstSeq;
    run.left = { ...run.state };
    for (const [name, { key }] of run.executions) {
      if (run.stored.has(pathOf(run, key))) continue;
      run.executions.delete(name);
      run.keys.delete(key);
    }
  }

  /** A step begins in a run that is cancelled. */
  beganInCancelled({ runId, step }: Execution): void {
    this.#world.violate("W6", `${step.id} of ${runId} began after the run was cancelled`);
  }

  effect({ runId, step, input }: Execution, name: string): void {
    const record = this.run(runId).executions.get(executionKey(step.id, input))!;
    if (record.kept.has(name))
      this.#world.violate("W2", `${name} of ${step.id} of ${runId} was kept, and happened again`);
  }

  kept({ runId, step, input }: Execution, name: string, value: number): void {
    const { kept } = this.run(runId).executions.get(executionKey(step.id, input))!;
    if (kept.has(name)) this.#world.reached.add("a kept effect was not repeated");
    if ((kept.get(name) ?? value) !== value)
      this.#world.violate("W2", `${name} of ${step.id} of ${runId} was ${kept.get(name)} and is ${value}`);
    kept.set(name, value);
  }

  oracle(run: SimRun): FlowOracle {
    const find = (stepId: string, input: Value) => run.executions.get(executionKey(stepId, input));
    return {
      answers: (stepId, input) => find(stepId, input)?.answers ?? [],
      began: (stepId, input) => find(stepId, input) !== undefined,
      isUnknown: () => false,
      left: run.left,
      agentWaits: () => false,
    };
  }
}

const RUNS = "selvedge_workflow_runs";
const STEPS = "selvedge_workflow_steps";
const EVENTS = "selvedge_workflow_events";
const STATE = "selvedge_workflow_state";

/** The places of a run that a write stores something about: in the journal, or with the events about it. */
function storedPaths(write: Write): readonly string[] {
  if (write.op !== "insert") return [];
  if (write.table.name === STEPS) return [write.row["path"] as string];
  if (write.table.name !== EVENTS) return [];
  return ((write.row["records"] as { path: string }[] | undefined) ?? []).map(({ path }) => path);
}

function runIdOf(write: Write): unknown {
  return write.op === "insert" ? write.row["run_id"] : write.where["run_id"];
}

/** The path in the key that the engine gives an execution. */
function pathOf(run: SimRun, key: string): string {
  return key.slice(run.id.length + 1);
}

/** How often executions at a path, or inside it, have begun. */
export function begunAt(run: SimRun, target: string): number {
  let count = 0;
  for (const [path, times] of run.begun)
    if (path === target || path.startsWith(`${target}/`) || path.startsWith(`${target}[`)) count += times;
  return count;
}
