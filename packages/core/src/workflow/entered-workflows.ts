import type { GraphScope } from "./graph.ts";
import type { Journal, StepRecord } from "./journal.ts";
import type { Path } from "./path.ts";
import type { Value } from "./ref.ts";
import { callHooks } from "./run-hooks.ts";
import type { Rest } from "./run-port.ts";
import type { RunSpec } from "./run-spec.ts";

interface Entered {
  rules: GraphScope;
  input: Value;
  startedAt: number;
}

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

  constructor(run: RunSpec, around: Surroundings) {
    this.#run = run;
    this.#around = around;
  }

  enter(path: Path, entered: Entered): void {
    this.#entered.set(path, entered);
  }

  /** It ended with this output. */
  close(path: Path, output: Value, endedAt: number): StepRecord {
    const { input, startedAt } = this.#entered.get(path)!;
    this.#callHooks(path, { status: "success", result: output });
    this.#entered.delete(path);
    const { journal } = this.#around;
    const number = journal.get(path)?.number ?? journal.nextNumber();
    return { path, number, status: "success", attempt: 1, input, output, startedAt, endedAt };
  }

  /** A step failed, and the workflows around it with it. */
  failAround(path: Path, { error, tripwire }: Pick<StepRecord, "error" | "tripwire">): void {
    const around = [...this.#entered.keys()].filter((outer) => path.startsWith(`${outer}/`));
    for (const outer of around.sort((a, b) => b.length - a.length))
      this.#callHooks(outer, { status: tripwire ? "tripwire" : "failed", error, tripwire });
  }

  #callHooks(
    path: Path,
    end: Pick<Rest, "status" | "tripwire" | "error"> & { result?: Value | undefined },
  ): void {
    const { rules, input } = this.#entered.get(path)!;
    const { id, hooks: options } = rules;
    if (!options?.onFinish && !options?.onError) return;
    const { runId, resourceId, host, requestContext } = this.#run;
    const { journal, state, whenStored } = this.#around;
    whenStored(() => {
      const inside = journal.all().filter((record) => record.path.startsWith(`${path}/`));
      const records = inside.map((record) => ({ ...record, path: record.path.slice(path.length + 1) }));
      const known = { runId, resourceId, input: input.data, state, records, ...end };
      void callHooks({ id, options, host }, known, requestContext);
    });
  }
}
