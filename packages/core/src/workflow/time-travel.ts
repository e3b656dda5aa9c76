import { AgentError, showValue } from "../errors.ts";
import { nameOf } from "./find-suspended.ts";
import { type Graph, idsOf, type Node } from "./graph.ts";
import type { StepRecord } from "./journal.ts";
import { questioner } from "./open-questions.ts";
import { choice, item, memberOf, parsePath, type Path, segment } from "./path.ts";
import { isEnd, type RunImage } from "./run-image.ts";
import type { GivenStepResult, TimeTravelOptions } from "./run-requests.ts";
import type { Definition } from "./workflow-engine.ts";

/** What a run keeps when it is executed again from a step, and what it is given. */
export interface TimeTravelPlan {
  /** Results of the caller, and the step to begin with. */
  records: StepRecord[];
  /** Results that still count. */
  keep: Set<Path>;
  /** Whether the step is the first of the workflow. */
  isFirst: boolean;
}

/**
 * Plans to execute a run again from a step. Earlier steps need a stored result or one of the caller's. Throws before
 * anything changes.
 */
export function planTimeTravel(
  definition: Pick<Definition, "rules" | "host">,
  stored: Pick<RunImage, "records" | "status"> | undefined,
  options: TimeTravelOptions,
  now: number,
): TimeTravelPlan {
  const { context, nestedStepsContext } = options;
  checkContext("context", context);
  if (nestedStepsContext !== undefined)
    for (const [id, nested] of Object.entries(checkContext("nestedStepsContext", nestedStepsContext)))
      checkContext(`nestedStepsContext.${id}`, nested);
  return new Planner(definition, stored, options, now).plan();
}

/** Results by step id, as programs without types pass them. */
function checkContext(place: string, context: unknown = {}): Record<string, unknown> {
  const wrong = (part: string, value: unknown): AgentError =>
    new AgentError(
      "invalid-argument",
      `${part} of timeTravel() must be an object such as { "step-id": { output } }, got ${showValue(value)}.`,
    );
  if (!isObject(context)) throw wrong(place, context);
  // The workflow's input is not a step result.
  for (const [id, given] of Object.entries(context))
    if (id !== "input" && !isObject(given)) throw wrong(`${place}.${id}`, given);
  return context;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

type Context = Record<string, GivenStepResult> | undefined;

class Planner {
  readonly #definition: Pick<Definition, "rules" | "host">;
  readonly #isOver: boolean;
  readonly #stored: ReadonlyMap<Path, StepRecord>;
  readonly #options: TimeTravelOptions;
  readonly #now: number;
  readonly #records: StepRecord[] = [];
  readonly #keep = new Set<Path>();
  /** The run was never started: given an input, nothing before the target needs a result. */
  readonly #skips: boolean;
  #number: number;

  constructor(
    definition: Pick<Definition, "rules" | "host">,
    stored: Pick<RunImage, "records" | "status"> | undefined,
    options: TimeTravelOptions,
    now: number,
  ) {
    const { records = [], status } = stored ?? {};
    this.#definition = definition;
    this.#isOver = status !== undefined && isEnd(status);
    this.#stored = new Map(records.map((record) => [record.path, record]));
    this.#options = options;
    this.#now = now;
    this.#skips = records.length === 0 && options.inputData !== undefined;
    this.#number = records.reduce((most, { number }) => Math.max(most, number), 0);
  }

  plan(): TimeTravelPlan {
    const name = nameOf(this.#options.step);
    const { graph } = this.#definition.rules;
    const isWhole = graph.places.has(name);
    const isFirst = this.#travel(graph, "", isWhole ? [name] : name.split("."), this.#options.context);
    return { records: this.#records, keep: this.#keep, isFirst };
  }

  /** Keeps what comes before a step at one level, and goes down to it. Returns whether nothing came before. */
  #travel(graph: Graph, prefix: string, [id, ...rest]: string[], context: Context): boolean {
    const node = id === undefined ? undefined : graph.places.get(id);
    if (!node || id === undefined) throw unknownStep(nameOf(this.#options.step), graph);
    const index = graph.nodes.indexOf(node);
    for (const earlier of graph.nodes.slice(0, index)) this.#keepNode(earlier, prefix, context);
    const path = prefix + segment(id);
    if (node.kind === "parallel") this.#keepSiblings(node, id, prefix, context);
    if (node.kind === "branch") this.#chooseBranch(node, id, prefix, context);
    if (rest.length > 0) {
      const member = memberOf(node, id);
      if (member?.kind !== "workflow") throw unknownStep(nameOf(this.#options.step), graph);
      if (node.kind === "loop" || node.kind === "foreach")
        throw new AgentError(
          "invalid-argument",
          `Step "${nameOf(this.#options.step)}" is inside a ${node.kind}. Travel to "${id}", which executes all of it again.`,
        );
      const nested = this.#options.nestedStepsContext?.[id];
      const isFirst = this.#travel(member.scope.graph, `${path}/`, rest, nested);
      // The input of its first step is its own.
      if (isFirst && this.#skips) this.#begin(path, this.#options.inputData);
      return isFirst && index === 0;
    }
    const target = node.kind === "loop" ? item(path, 1) : node.kind === "foreach" ? choice(prefix, id) : path;
    this.#aim(target);
    return index === 0;
  }

  /** The step to begin with. */
  #aim(path: Path): void {
    const { inputData, resumeData } = this.#options;
    if (resumeData === undefined) {
      if (inputData !== undefined) this.#begin(path, inputData);
      return;
    }
    const before = this.#stored.get(path);
    this.#records.push({
      path,
      number: ++this.#number,
      status: "resumed",
      attempt: 1,
      ...(inputData !== undefined && { input: { data: inputData as unknown } }),
      resume: { payload: resumeData },
      ...(before?.suspend && { suspend: before.suspend }),
      resumedAt: this.#now,
      startedAt: this.#now,
    });
  }

  /** A step or a workflow that begins with this input. */
  #begin(path: Path, inputData: unknown): void {
    const number = ++this.#number;
    const startedAt = this.#now;
    this.#records.push({ path, number, status: "ready", attempt: 1, input: { data: inputData }, startedAt });
  }

  /** A step before the target: its result is kept or given. */
  #keepNode(node: Node, prefix: string, context: Context): void {
    const given = "id" in node && context && Object.hasOwn(context, node.id) ? context[node.id] : undefined;
    switch (node.kind) {
      case "map":
        if (given) return this.#give(prefix + segment(node.id), given);
        if (this.#skips) return this.#skip(prefix + segment(node.id));
        return this.#keepTree(prefix + segment(node.id));
      case "sleep": {
        const path = prefix + segment(node.id);
        if (given) return this.#give(path, given);
        if (this.#skips) return this.#skip(path);
        // It is not slept again.
        if (this.#stored.get(path)?.status === "success") return this.#keepTree(path);
        throw missing(prefix, node.id);
      }
      case "parallel":
        for (const { id } of node.members) this.#keepMember(id, prefix, context);
        return;
      case "branch": {
        const path = choice(prefix, node.members[0]!.id);
        const chosen = this.#stored.get(path)?.output?.data as string[] | undefined;
        const given = node.members.map(({ id }) => id).filter((id) => context && Object.hasOwn(context, id));
        if (!chosen && given.length === 0 && this.#skips) return this.#give(path, { output: [] });
        if (!chosen && given.length === 0) throw missing(prefix, idsOf(node).join(", "));
        if (given.length > 0) this.#give(path, { output: given });
        else this.#keepTree(path);
        for (const id of given.length > 0 ? given : chosen!) this.#keepMember(id, prefix, context);
        return;
      }
      case "loop":
      case "foreach":
        return this.#keepRepeated(node, prefix, context);
      default:
        return this.#keepMember(node.id, prefix, context);
    }
  }

  #keepMember(id: string, prefix: string, context: Context): void {
    const path = prefix + segment(id);
    const given = context && Object.hasOwn(context, id) ? context[id] : undefined;
    if (given) return this.#give(path, given);
    if (this.#skips) return this.#skip(path);
    if (this.#stored.get(path)?.status !== "success") throw missing(prefix, id);
    this.#keepTree(path);
  }

  #keepRepeated(node: Extract<Node, { kind: "loop" | "foreach" }>, prefix: string, context: Context): void {
    const { id } = node.body;
    const base = prefix + segment(id);
    const given = context && Object.hasOwn(context, id) ? context[id] : undefined;
    if (given && node.kind === "loop") {
      this.#give(item(base, 1), given);
      return this.#give(choice(prefix, id, 1), { output: node.type === "dountil" });
    }
    if (given) {
      const outputs = outputOf(given);
      if (!Array.isArray(outputs))
        throw new AgentError(
          "invalid-argument",
          `context["${id}"].output must be an array, one item for each of the foreach, got ${showValue(outputs)}.`,
        );
      this.#give(choice(prefix, id), { output: { count: outputs.length, concurrency: 1 } });
      for (const [index, output] of outputs.entries()) this.#give(item(base, index), { output });
      return;
    }
    if (this.#skips && node.kind === "loop") {
      this.#skip(item(base, 1));
      return this.#give(choice(prefix, id, 1), { output: node.type === "dountil" });
    }
    if (this.#skips) return this.#give(choice(prefix, id), { output: { count: 0, concurrency: 1 } });
    const own = [...this.#stored.values()].filter(
      ({ path }) => path.startsWith(`${base}[`) || path.startsWith(choice(prefix, id)),
    );
    if (own.length === 0 || own.some(({ status }) => status !== "success")) throw missing(prefix, id);
    for (const { path } of own) this.#keep.add(path);
  }

  /** The other members of the block keep what they have; those that failed or have nothing are executed. */
  #keepSiblings(
    node: Extract<Node, { kind: "parallel" }>,
    id: string,
    prefix: string,
    context: Context,
  ): void {
    for (const member of node.members) {
      if (member.id === id) continue;
      const given = context?.[member.id];
      if (given) this.#give(prefix + segment(member.id), given);
      // The input of the block.
      else if (this.#skips) this.#aim(prefix + segment(member.id));
      else this.#keepBeside(prefix + segment(member.id));
    }
  }

  #chooseBranch(node: Extract<Node, { kind: "branch" }>, id: string, prefix: string, context: Context): void {
    const path = choice(prefix, node.members[0]!.id);
    const chosen = (this.#stored.get(path)?.output?.data as string[] | undefined) ?? [];
    if (chosen.includes(id)) this.#keepTree(path);
    else this.#give(path, { output: [id] });
    if (chosen.includes(id))
      for (const other of chosen)
        if (other !== id) {
          const given = context?.[other];
          if (given) this.#give(prefix + segment(other), given);
          else this.#keepBeside(prefix + segment(other));
        }
  }

  /** Keeps what a member beside the target has, except failures, which would end the run before the target is executed. */
  #keepBeside(path: Path): void {
    this.#keepTree(path, (record) => !isFailure(record) && !this.#isWithdrawn(record));
  }

  /** Whether a step waits for something that ended with the run. */
  #isWithdrawn({ path, status }: StepRecord): boolean {
    return this.#isOver && status === "suspended" && questioner(this.#definition, path) !== undefined;
  }

  #keepTree(path: Path, isKept: (record: StepRecord) => boolean = () => true): void {
    for (const [own, record] of this.#stored)
      if ((own === path || own.startsWith(`${path}/`)) && isKept(record)) this.#keep.add(own);
  }

  #skip(path: Path): void {
    const startedAt = this.#now;
    this.#records.push({
      path,
      number: ++this.#number,
      status: "skipped",
      attempt: 0,
      startedAt,
      endedAt: startedAt,
    });
  }

  #give(path: Path, given: GivenStepResult): void {
    const data = outputOf(given);
    const payload = "payload" in given ? (given.payload as unknown) : undefined;
    const startedAt = this.#now;
    this.#records.push({
      path,
      number: ++this.#number,
      status: "success",
      attempt: 1,
      ...(payload !== undefined && { input: { data: payload } }),
      output: { data, ref: path },
      startedAt,
      endedAt: startedAt,
    });
  }
}

/** A failure that another execution may not have. What may run once and perhaps did is not executed unless it is named. */
function isFailure({ status, error }: StepRecord): boolean {
  return status === "failed" && !AgentError.is(error, "step-outcome-unknown");
}

function outputOf(given: GivenStepResult): unknown {
  return "output" in given ? given.output : undefined;
}

function missing(prefix: string, id: string): AgentError {
  const around = parsePath(prefix.slice(0, -1)).map((part) => part.id);
  const result = `{ "${id}": { output } }`;
  const how = prefix === "" ? `context: ${result}` : `nestedStepsContext: { "${around.at(-1)}": ${result} }`;
  return new AgentError(
    "conflict",
    `Step "${prefix === "" ? id : [...around, id].join(".")}" comes before the step to travel to and has no result. Pass one in ${how}.`,
  );
}

function unknownStep(name: string, graph: Graph): AgentError {
  return new AgentError(
    "not-found",
    `There is no step "${name}". Steps: ${[...graph.places.keys()].join(", ")}.`,
  );
}
