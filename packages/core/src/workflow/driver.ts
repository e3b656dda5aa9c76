import { AgentError, showValue } from "../errors.ts";
import type {
  BranchNode,
  ForeachNode,
  GraphScope,
  LoopNode,
  MapNode,
  Member,
  NestedNode,
  Node,
  SleepNode,
  StepNode,
} from "./graph.ts";
import { choice, item, type Path, segment } from "./path.ts";
import { INPUT_REF, type Value } from "./ref.ts";

/** What the journal has about a place. */
export type Stored =
  /** `bailed`: the step ended its workflow with the value. */
  | { status: "success"; value: Value; bailed?: boolean }
  | { status: "failed"; error: unknown }
  | { status: "suspended" }
  | { status: "waiting"; dueAt: number }
  /** To be executed: it was resumed, began before (`running`), or has an input that someone chose. */
  | { status: "ready"; input?: Value };

/** A workflow that is being carried out: the run's own, or a nested one. */
export interface Scope {
  readonly rules: GraphScope;
  /** What the paths of its steps begin with. */
  readonly prefix: string;
  readonly path: Path;
  readonly parent: Scope | undefined;
  readonly input: Value;
}

interface Task {
  readonly path: Path;
  readonly scope: Scope;
  readonly input: Value;
}

/** Something to do. All but `enter` are stored with their result. */
export type Work =
  | (Task & { kind: "step"; node: StepNode })
  | (Task & { kind: "map"; node: MapNode })
  /** Its result is the time to wake up. */
  | (Task & { kind: "sleep"; node: SleepNode })
  /** Its result is the ids of the members that run. */
  | (Task & { kind: "branch"; node: BranchNode })
  /** Its result is the value of the condition. */
  | (Task & { kind: "loop"; node: LoopNode; iteration: number })
  | (Task & { kind: "foreach"; node: ForeachNode })
  /** Its result is the input of a nested workflow, checked. */
  | (Task & { kind: "enter"; node: NestedNode });

/** The result of the work of a `foreach`. */
export interface ForeachPlan {
  count: number;
  concurrency: number;
}

/** What the driver found out since it was last asked. */
export interface Turn {
  /** To be done now. */
  ready: Work[];
  /** Nested workflows that are done. */
  closed: { path: Path; output: Value }[];
  /** Items of a `foreach` that are done. */
  progress: {
    node: ForeachNode;
    path: Path;
    index: number;
    completed: number;
    count: number;
    output: Value;
  }[];
}

type Then = (output: Value) => void;

/** A part of a run whose activity is counted: a workflow, or an item of a `foreach`. */
interface Frame {
  readonly parent: Frame | undefined;
  readonly isWorkflow: boolean;
  active: number;
  /** Called when nothing in it is active. */
  onIdle?: (() => void) | undefined;
  /** The result that a step ended the workflow with. */
  bailed?: Value | undefined;
}

interface Open {
  work: Work;
  frame: Frame;
  next: Then;
}

/**
 * Decides what a run does next. Pure: it gets a graph, what the journal has, and results as they arrive; it says what is
 * ready, what waits, and how it ended. Each result costs the same, however many came before.
 */
export class Driver {
  readonly #stored: (path: Path) => Stored | undefined;
  /** Ready or in progress. */
  readonly #active = new Map<Path, Open>();
  readonly #suspended = new Map<Path, Open>();
  readonly #waiting = new Map<Path, Open & { dueAt: number }>();
  /** Steps and sleeps that are held back, because only one may be executed. */
  readonly #held = new Map<Path, Open>();
  readonly #queue: (() => void)[] = [];
  /** Frames in which something came to rest; -1 if it was active there. They are told when the queue is empty. */
  readonly #rested: { frame: Frame; change: -1 | 0 }[] = [];
  #turn: Turn = { ready: [], closed: [], progress: [] };
  /** How many steps may still be executed. */
  #budget: number;
  #failure: { path: Path; error: unknown } | undefined;
  #result: Value | undefined;
  #wasCanceled = false;

  constructor(
    rules: GraphScope,
    input: unknown,
    stored: (path: Path) => Stored | undefined,
    { budget = Number.POSITIVE_INFINITY }: { budget?: number } = {},
  ) {
    this.#stored = stored;
    this.#budget = budget;
    const scope: Scope = {
      rules,
      prefix: "",
      path: "",
      parent: undefined,
      input: { data: input, ref: INPUT_REF },
    };
    this.#workflow(scope, undefined, (output) => (this.#result = output));
    this.#drain();
    // Items that were done before were announced then.
    this.#turn.progress = [];
  }

  /** What happened since the last call. */
  take(): Turn {
    const turn = this.#turn;
    this.#turn = { ready: [], closed: [], progress: [] };
    return turn;
  }

  /** Whether nothing is in progress or about to be. */
  get isAtRest(): boolean {
    return this.#active.size === 0 || this.#wasCanceled;
  }

  /** Why it is at rest. */
  get state():
    | { status: "success"; result: Value }
    | { status: "failed"; path: Path; error: unknown }
    | { status: "canceled" }
    | { status: "paused" }
    | { status: "waiting"; dueAt: number }
    | { status: "suspended" } {
    if (this.#wasCanceled) return { status: "canceled" };
    if (this.#failure) return { status: "failed", ...this.#failure };
    if (this.#result) return { status: "success", result: this.#result };
    if (this.#held.size > 0) return { status: "paused" };
    const dueAt = this.nextDue;
    return dueAt === undefined ? { status: "suspended" } : { status: "waiting", dueAt };
  }

  /** What is ready or in progress. */
  get active(): Path[] {
    return [...this.#active.keys()];
  }

  get suspended(): Path[] {
    return [...this.#suspended.keys()];
  }

  /** When the next sleep is over. */
  get nextDue(): number | undefined {
    if (this.#waiting.size === 0) return undefined;
    let dueAt = Number.POSITIVE_INFINITY;
    for (const open of this.#waiting.values()) dueAt = Math.min(dueAt, open.dueAt);
    return dueAt;
  }

  /** Sleeps that are over. */
  due(now: number): Work[] {
    if (this.#waiting.size === 0) return [];
    return [...this.#waiting.values()].filter(({ dueAt }) => dueAt <= now).map(({ work }) => work);
  }

  succeeded(path: Path, output: Value): void {
    const open = this.#close(path);
    if (open && !this.#failure && !isEnding(open.frame)) this.#later(() => open.next(output));
    this.#drain();
  }

  failed(path: Path, error: unknown): void {
    this.#fail(path, error);
    this.#close(path);
    this.#drain();
  }

  /** The step ended its workflow. */
  bailed(path: Path, result: Value): void {
    const open = this.#active.get(path);
    if (open) this.#bail(open.frame, result);
    this.#close(path);
    this.#drain();
  }

  suspends(path: Path): void {
    const open = this.#active.get(path);
    if (open) this.#suspended.set(path, open);
    this.#close(path);
    this.#drain();
  }

  /** A sleep begins. */
  waits(path: Path, dueAt: number): void {
    const open = this.#active.get(path);
    this.#active.delete(path);
    // It still counts as active in its frame: a sleeping item keeps its place.
    if (open) this.#waiting.set(path, { ...open, dueAt });
    this.#drain();
  }

  /** A suspended step is executed again. */
  resume(path: Path): void {
    const open = this.#suspended.get(path);
    if (!open) return;
    this.#suspended.delete(path);
    this.#activate(open);
    this.#drain();
  }

  /** Held steps go on, as far as the budget goes. */
  release(budget: number): void {
    this.#budget = budget;
    const held = [...this.#held.values()];
    this.#held.clear();
    for (const open of held) this.#activate(open);
    this.#drain();
  }

  cancel(): void {
    this.#wasCanceled = true;
    this.#turn.ready = [];
  }

  #later(work: () => void): void {
    this.#queue.push(work);
  }

  #drain(): void {
    for (;;) {
      const work = this.#queue.shift();
      if (work) work();
      else if (this.#rested.length > 0) this.#tellRested();
      else return;
    }
  }

  #tellRested(): void {
    const { frame, change } = this.#rested.shift()!;
    for (let one: Frame | undefined = frame; one; one = one.parent) {
      one.active += change;
      if (one.active === 0) one.onIdle?.();
    }
  }

  #workflow(scope: Scope, parent: Frame | undefined, then: Then): void {
    const frame: Frame = { parent, isWorkflow: true, active: 0 };
    let isDone = false;
    const done: Then = (output) => {
      isDone = true;
      then(output);
    };
    frame.onIdle = () => {
      // A step ended it, and another failed: it fails with the run.
      if (!frame.bailed || isDone || this.#failure) return;
      this.#dropResting(frame);
      done(frame.bailed);
    };
    this.#next(scope, frame, 0, scope.input, done);
  }

  #next(scope: Scope, frame: Frame, index: number, input: Value, done: Then): void {
    const node = scope.rules.graph.nodes[index];
    if (!node) return done(input);
    this.#node(scope, frame, node, input, (output) => this.#next(scope, frame, index + 1, output, done));
  }

  #node(scope: Scope, frame: Frame, node: Node, input: Value, then: Then): void {
    switch (node.kind) {
      case "step":
      case "workflow":
        return this.#member(scope, frame, node, scope.prefix + segment(node.id), input, then);
      case "map":
      case "sleep": {
        const path = scope.prefix + segment(node.id);
        return this.#open({ kind: node.kind, node, path, scope, input } as Work, frame, then);
      }
      case "parallel":
        return this.#members(scope, frame, node.members, input, then);
      case "branch": {
        const path = choice(scope.prefix, node.members[0]!.id);
        return this.#open({ kind: "branch", node, path, scope, input }, frame, ({ data }) => {
          const chosen = new Set(data as string[]);
          this.#members(
            scope,
            frame,
            node.members.filter(({ id }) => chosen.has(id)),
            input,
            then,
          );
        });
      }
      case "loop":
        return this.#iterate(scope, frame, node, 1, input, then);
      case "foreach":
        return this.#foreach(scope, frame, node, input, then);
    }
  }

  #member(scope: Scope, frame: Frame, node: Member, path: Path, input: Value, then: Then): void {
    if (node.kind === "step") return this.#open({ kind: "step", node, path, scope, input }, frame, then);
    const stored = this.#stored(path);
    if (stored?.status === "success") return this.#later(() => then(stored.value));
    this.#open({ kind: "enter", node, path, scope, input }, frame, (own) => {
      const nested = { rules: node.scope, prefix: `${path}/`, path, parent: scope, input: own };
      this.#workflow(nested, frame, (output) => {
        this.#turn.closed.push({ path, output });
        then(output);
      });
    });
  }

  /** Members run together; the block is done when all are. */
  #members(scope: Scope, frame: Frame, members: readonly Member[], input: Value, then: Then): void {
    const outputs = new Map<string, Value>();
    const join = (): void => {
      const parts = members.map(({ id }) => [id, outputs.get(id)!] as const);
      const data = Object.fromEntries(parts.map(([id, output]) => [id, output.data]));
      const refs = parts.map(([id, output]) => [id, output.ref] as const);
      const known = refs.every(([, ref]) => ref !== undefined);
      then({ data, ref: known ? { object: Object.fromEntries(refs) as Record<string, string> } : undefined });
    };
    if (members.length === 0) return this.#later(join);
    for (const member of members)
      this.#member(scope, frame, member, scope.prefix + segment(member.id), input, (output) => {
        outputs.set(member.id, output);
        if (outputs.size === members.length) join();
      });
  }

  #iterate(scope: Scope, frame: Frame, node: LoopNode, iteration: number, input: Value, then: Then): void {
    const path = item(scope.prefix + segment(node.body.id), iteration);
    this.#member(scope, frame, node.body, path, input, (output) => {
      const decision = choice(scope.prefix, node.body.id, iteration);
      const work: Work = { kind: "loop", node, path: decision, scope, input: output, iteration };
      this.#open(work, frame, ({ data }) => {
        if ((data === true) !== (node.type === "dowhile")) return then(output);
        const { maxIterations } = scope.rules;
        if (iteration >= maxIterations) return this.#fail(decision, tooManyIterations(node, maxIterations));
        this.#iterate(scope, frame, node, iteration + 1, output, then);
      });
    });
  }

  #foreach(scope: Scope, frame: Frame, node: ForeachNode, given: Value, then: Then): void {
    const chosen = this.#stored(choice(scope.prefix, node.body.id));
    const input = (chosen?.status === "ready" && chosen.input) || given;
    const plan: Work = { kind: "foreach", node, path: choice(scope.prefix, node.body.id), scope, input };
    this.#open(plan, frame, ({ data }) => {
      const { count, concurrency } = data as ForeachPlan;
      const list = input.data as readonly unknown[];
      const base = scope.prefix + segment(node.body.id);
      const outputs: unknown[] = Array.from({ length: count });
      let next = 0;
      let running = 0;
      let completed = 0;
      const fill = (): void => {
        while (running < concurrency && next < count && !this.#failure) begin(next++);
      };
      const begin = (index: number): void => {
        running++;
        let holdsPlace = true;
        const leave = (): void => {
          if (!holdsPlace) return;
          holdsPlace = false;
          running--;
        };
        const own: Frame = { parent: frame, isWorkflow: false, active: 0 };
        // Everything in it waits for a person: another item takes its place.
        own.onIdle = () => {
          leave();
          this.#later(fill);
        };
        const ref = input.ref === undefined ? undefined : { of: input.ref, item: index };
        this.#member(scope, own, node.body, item(base, index), { data: list[index], ref }, (output) => {
          own.onIdle = undefined;
          leave();
          outputs[index] = output.data;
          completed++;
          this.#turn.progress.push({ node, path: base, index, completed, count, output });
          if (completed === count) then({ data: outputs, ref: { list: base, count } });
          else fill();
        });
      };
      if (count === 0) then({ data: outputs, ref: { list: base, count } });
      else fill();
    });
  }

  /** Continues with what the journal has, or makes work ready. */
  #open(work: Work, frame: Frame, then: Then): void {
    // A workflow that is ending begins nothing.
    if (this.#failure || isEnding(frame)) return;
    const stored = this.#stored(work.path);
    switch (work.kind === "enter" && stored?.status !== "ready" ? undefined : stored?.status) {
      case "success": {
        const { value, bailed } = stored as Stored & { status: "success" };
        if (!bailed) return this.#later(() => then(value));
        this.#bail(frame, value);
        this.#rested.push({ frame, change: 0 });
        return;
      }
      case "failed":
        return this.#fail(work.path, (stored as Stored & { status: "failed" }).error);
      case "suspended":
        this.#suspended.set(work.path, { work, frame, next: then });
        // The item of a `foreach` that it is in may give up its place.
        this.#rested.push({ frame, change: 0 });
        return;
      case "waiting":
        this.#occupy(frame);
        this.#waiting.set(work.path, {
          work,
          frame,
          next: then,
          dueAt: (stored as Stored & { status: "waiting" }).dueAt,
        });
        return;
      default: {
        const input = stored?.status === "ready" ? stored.input : undefined;
        return this.#activate({ work: input ? ({ ...work, input } as Work) : work, frame, next: then });
      }
    }
  }

  #activate(open: Open): void {
    const { work, frame } = open;
    if ((work.kind === "step" || work.kind === "sleep") && this.#budget-- <= 0) {
      this.#held.set(work.path, open);
      return;
    }
    this.#active.set(work.path, open);
    this.#occupy(frame);
    this.#turn.ready.push(work);
  }

  /** Work is no longer active. */
  #close(path: Path): Open | undefined {
    const open = this.#active.get(path) ?? this.#waiting.get(path);
    if (!open) return undefined;
    this.#active.delete(path);
    this.#waiting.delete(path);
    this.#rested.push({ frame: open.frame, change: -1 });
    return open;
  }

  #occupy(frame: Frame): void {
    for (let one: Frame | undefined = frame; one; one = one.parent) one.active++;
  }

  #fail(path: Path, error: unknown): void {
    this.#failure ??= { path, error };
  }

  #bail(from: Frame, result: Value): void {
    let frame: Frame | undefined = from;
    // An item of a `foreach` is no workflow.
    while (frame && !frame.isWorkflow) frame = frame.parent;
    if (!frame) return;
    frame.bailed ??= result;
    this.#dropResting(frame);
  }

  /** Forgets what rests in a workflow that ended. */
  #dropResting(frame: Frame): void {
    for (const resting of [this.#suspended, this.#waiting, this.#held])
      for (const [path, open] of resting) {
        if (!isInside(open.frame, frame)) continue;
        resting.delete(path);
        // A sleep counts as active in its frames.
        if (resting === this.#waiting) this.#rested.push({ frame: open.frame, change: -1 });
      }
  }
}

function isEnding(frame: Frame): boolean {
  for (let one: Frame | undefined = frame; one; one = one.parent) if (one.bailed) return true;
  return false;
}

function isInside(frame: Frame, outer: Frame): boolean {
  for (let one: Frame | undefined = frame; one; one = one.parent) if (one === outer) return true;
  return false;
}

function tooManyIterations(node: LoopNode, max: number): AgentError {
  return new AgentError(
    "limit-exceeded",
    `Step ${showValue(node.body.id)} was repeated ${max} times and its ${node.type} condition still holds. Raise options.maxIterations of the workflow if that is intended.`,
  );
}
