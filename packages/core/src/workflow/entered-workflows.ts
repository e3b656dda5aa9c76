import type { GraphScope } from "./graph.ts";
import type { Journal, StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { Value } from "./ref.ts";
import { callHooks } from "./run-hooks.ts";
import type { Rest } from "./run-port.ts";
import type { RunSpec } from "./run-spec.ts";

interface Entered {
  path: Path;
  rules: GraphScope;
  input: Value;
  startedAt: number;
}

/** Why a run failed. A loop without an end has no record that failed. */
type Failure = Pick<StepRecord, "path" | "error" | "tripwire">;

interface Surroundings {
  journal: Journal;
  state: ReadonlyMap<string, unknown>;
  /** Calls back when what happened until now is stored. */
  whenStored(call: () => void): void;
}

/** The nested workflows of a run that are under way: their callbacks, and the records of their ends. */
export class EnteredWorkflows {
  readonly #run: RunSpec;
  readonly #around: Surroundings;
  readonly #entered = new Map<Path, Entered>();
  /** Those that were under way before this process took the run, and when their first step began. */
  readonly #begun = new Map<Path, number>();

  constructor(run: RunSpec, around: Surroundings) {
    this.#run = run;
    this.#around = around;
    for (const { path, startedAt } of around.journal.values())
      for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
        const outer = path.slice(0, end);
        this.#begun.set(outer, Math.min(startedAt, this.#begun.get(outer) ?? startedAt));
      }
  }

  /** Whether a step of it has left something in the journal, so that its start is known. */
  hasBegun(path: Path): boolean {
    return this.#begun.has(path);
  }

  enter(entered: Entered): void {
    this.#entered.set(entered.path, entered);
  }

  /** It ended with this output. */
  close(path: Path, output: Value, endedAt: number): StepRecord & { input: Value; endedAt: number } {
    const entered = this.#entered.get(path)!;
    const { input } = entered;
    const { journal, whenStored } = this.#around;
    whenStored(() => this.#callHooks(entered, { status: "success", result: output }));
    this.#entered.delete(path);
    const number = journal.get(path)?.number ?? journal.nextNumber();
    return {
      path,
      number,
      status: "success",
      attempt: 1,
      input,
      output,
      // If another process or an earlier execution entered it, its first step knows better.
      startedAt: Math.min(entered.startedAt, this.#begun.get(path) ?? entered.startedAt),
      endedAt,
    };
  }

  /** Those in which steps failed, innermost first. They end with the run: several of their steps may fail. */
  failed(first: Failure): (Entered & { failure: Failure })[] {
    if (this.#entered.size === 0) return [];
    const failures = this.#around.journal.all().filter(({ status }) => status === "failed");
    const found = Array.from(this.#entered.values(), (entered) => {
      const failure = [...failures, first].find(({ path }) => path.startsWith(`${entered.path}/`));
      return failure ? [{ ...entered, failure }] : [];
    });
    return found.flat().sort((a, b) => b.path.length - a.path.length);
  }

  /** The end of the run is stored. */
  callFailed(first: Failure): void {
    for (const { failure, ...entered } of this.failed(first)) {
      const { error, tripwire } = failure;
      this.#callHooks(entered, { status: tripwire ? "tripwire" : "failed", error, tripwire });
    }
  }

  #callHooks(
    { path, rules, input }: Entered,
    end: Pick<Rest, "status" | "tripwire" | "error"> & { result?: Value | undefined },
  ): void {
    const { id, hooks: options } = rules;
    if (!options?.onFinish && !options?.onError) return;
    const { runId, resourceId, host, requestContext } = this.#run;
    const { journal, state } = this.#around;
    const inside = journal.all().filter((record) => record.path.startsWith(`${path}/`));
    const records = inside.map((record) => ({ ...record, path: record.path.slice(path.length + 1) }));
    const known = { runId, resourceId, input: input.data, state, records, ...end };
    void callHooks({ id, options, host }, known, requestContext);
  }
}
