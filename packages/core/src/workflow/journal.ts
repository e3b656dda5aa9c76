import type { WorkflowTripwire } from "@selvedge/protocol";
import type { Stored } from "./driver.ts";
import type { Path } from "./path.ts";
import type { Value } from "./ref.ts";

/** What a run knows about one execution, or one choice. Times are in milliseconds. */
export interface StepRecord {
  path: Path;
  /** The order in which records were made. */
  number: number;
  /**
   * `running`: it is about to run and must not run twice. `resumed`: to be executed with `resume`. `ready`: to be
   * executed with an input that someone chose. `skipped`: a time travel began behind it, so it has no result.
   */
  status: "running" | "success" | "failed" | "suspended" | "resumed" | "waiting" | "ready" | "skipped";
  /** It succeeded and ended its workflow with its output. */
  bailed?: boolean | undefined;
  /** How often it was tried. */
  attempt: number;
  input?: Value | undefined;
  output?: Value | undefined;
  error?: unknown;
  tripwire?: WorkflowTripwire | undefined;
  /** What `suspend()` was given. */
  suspend?: { payload: unknown } | undefined;
  /** What `resume()` was given. */
  resume?: { payload: unknown } | undefined;
  labels?: readonly string[] | undefined;
  startedAt: number;
  endedAt?: number | undefined;
  suspendedAt?: number | undefined;
  resumedAt?: number | undefined;
  dueAt?: number | undefined;
  metadata?: Record<string, unknown> | undefined;
}

const INDEXED = /^(.*)\[(\d+)\]$/;

/** The records of a run in memory. */
export class Journal {
  readonly #records = new Map<Path, StepRecord>();
  /** The last iteration of each loop that succeeded. */
  readonly #latest = new Map<Path, StepRecord>();
  #number = 0;

  constructor(records: Iterable<StepRecord> = []) {
    for (const record of records) this.set(record);
  }

  get(path: Path): StepRecord | undefined {
    return this.#records.get(path);
  }

  /** In the order in which they were made. */
  all(): StepRecord[] {
    return [...this.#records.values()].sort((a, b) => a.number - b.number);
  }

  /** In any order. */
  values(): Iterable<StepRecord> {
    return this.#records.values();
  }

  get size(): number {
    return this.#records.size;
  }

  nextNumber(): number {
    return this.#number + 1;
  }

  set(record: StepRecord): void {
    this.#records.set(record.path, record);
    if (record.number > this.#number) this.#number = record.number;
    if (record.status !== "success" || !record.path.endsWith("]")) return;
    const base = INDEXED.exec(record.path)?.[1];
    if (base !== undefined) this.#latest.set(base, record);
  }

  /** The output of the step at a path; for a loop, that of its last iteration. */
  outputAt(path: Path): Value | undefined {
    const record = this.#records.get(path) ?? this.#latest.get(path);
    if (record && record.status !== "success") return undefined;
    const plan = this.#records.get(path.replace(/[^/]*$/, "?$&"))?.output?.data;
    // The items of a `foreach`, together.
    if (record?.path !== path && typeof plan === "object" && plan !== null && "count" in plan) {
      const { count } = plan as { count: number };
      const items = Array.from({ length: count }, (_, index) => this.#records.get(`${path}[${index}]`));
      if (items.some((one) => one?.status !== "success")) return undefined;
      return { data: items.map((one) => one!.output?.data), ref: { list: path, count } };
    }
    return record?.output;
  }

  /** What the driver needs to know about a path. */
  stored(path: Path): Stored | undefined {
    const record = this.#records.get(path);
    if (!record) return undefined;
    switch (record.status) {
      case "success":
        return {
          status: "success",
          value: { data: record.output?.data, ref: path },
          ...(record.bailed && { bailed: true }),
        };
      case "skipped":
        return { status: "success", value: { data: undefined } };
      case "failed":
        return { status: "failed", error: record.error };
      case "suspended":
        return { status: "suspended" };
      case "waiting":
        return { status: "waiting", dueAt: record.dueAt ?? 0 };
      case "ready":
      case "resumed":
        return record.input ? { status: "ready", input: record.input } : { status: "ready" };
      default:
        return { status: "ready" };
    }
  }
}
