import { AgentError } from "@selvedge/core/errors";
import {
  type Change,
  type Commit,
  type CommitOutcome,
  type CommitResult,
  RESOURCES,
  requireRow,
} from "@selvedge/core/storage";
import { DistantDriver } from "./distant-driver.ts";

// Each breaks one rule of the contract, the way adapters do.

/** Reads what a commit requires first of all, and then writes. */
export class ChecksBeforeTheTransaction extends DistantDriver {
  protected override transaction(keys: readonly string[], commit: Commit): Promise<CommitOutcome> {
    return checkThen(commit, this.apply.bind(this), async (rest) => {
      await this.place.travel();
      return super.transaction(keys, rest);
    });
  }
}

/** Takes the lock in the statement that checks, which sees what there was before it waited. */
export class LocksInTheSameStatement extends DistantDriver {
  protected override transaction(keys: readonly string[], commit: Commit): Promise<CommitOutcome> {
    return checkThen(commit, this.apply.bind(this), (rest) =>
      this.place.locks.run(keys, async () => {
        await this.place.travel();
        return this.apply(rest);
      }),
    );
  }
}

/** Sends every commit at once, on whichever connection is free. */
export class OvertakesItself extends DistantDriver {
  // A store keeps the order itself where it may have to send a commit again.
  override readonly losesAnswers = false;

  protected override inOrder<Value>(_: readonly string[], work: () => Promise<Value>): Promise<Value> {
    return work();
  }
}

/** Takes its numbers in blocks, as a sequence with a cache does. */
export class NumbersInBlocks extends DistantDriver {
  #left = 0;
  #next = 0;

  protected override async apply(commit: Commit): Promise<CommitOutcome> {
    const outcome = await super.apply(commit);
    if ("error" in outcome) return outcome;
    const { changes, auto } = outcome.result;
    return { result: { changes, auto: auto.map((number) => number && this.#numberAt(number)) } };
  }

  #numberAt(number: number): number {
    if (this.#left-- === 0) [this.#left, this.#next] = [9, number * 10];
    return this.#next++;
  }
}

/** Keeps what was written before a condition failed. */
export class KeepsHalf extends DistantDriver {
  protected override async apply({ writes }: Commit): Promise<CommitOutcome> {
    const result: CommitResult = { changes: [], auto: [] };
    for (const [index, write] of writes.entries()) {
      const outcome = await super.apply({ writes: [write] });
      if ("error" in outcome) return { error: atIndex(outcome.error, index) };
      result.changes.push(...outcome.result.changes);
      result.auto.push(...outcome.result.auto);
    }
    return { result };
  }
}

/** Refuses as a whole, and shows what it writes bit by bit. */
export class ShowsHalf extends DistantDriver {
  protected override async apply({ writes }: Commit): Promise<CommitOutcome> {
    const probe = await super.apply({ writes: [...writes, requireRow(RESOURCES, { id: "nobody" })] });
    if ("error" in probe && indexOf(probe.error) !== writes.length) return probe;
    const result: CommitResult = { changes: [], auto: [] };
    for (const write of writes) {
      const outcome = await super.apply({ writes: [write] });
      if ("error" in outcome) return outcome;
      result.changes.push(...outcome.result.changes);
      result.auto.push(...outcome.result.auto);
      await this.place.travel();
    }
    return { result };
  }
}

/** Takes the id of a commit for one more row to be put. */
export class AppliesAnIdTwice extends DistantDriver {
  protected override apply(commit: Commit): Promise<CommitOutcome> {
    const writes = commit.writes.map((write) =>
      write.op === "insert" && write.table.name === "selvedge_commits"
        ? { ...write, onConflict: "ignore" as const }
        : write,
    );
    return super.apply({ ...commit, writes });
  }
}

/** Reports the wrong keys. */
export class WatchesWrongKeys extends DistantDriver {
  override watch(onChange: (change: Change) => void): () => void {
    return super.watch((change) =>
      onChange(change === "unknown" ? change : { keys: new Set([...change.keys].map((key) => `${key}!`)) }),
    );
  }
}

/** Reports one of the keys of a commit. */
export class WatchesOneKey extends DistantDriver {
  override watch(onChange: (change: Change) => void): () => void {
    return super.watch((change) =>
      onChange(change === "unknown" ? change : { keys: new Set([...change.keys].slice(0, 1)) }),
    );
  }
}

/** Refuses a commit now and then for a conflict there was not. */
export class RefusesForNoReason extends DistantDriver {
  protected override async apply(commit: Commit): Promise<CommitOutcome> {
    const at = commit.writes.findIndex(({ op }) => op === "require");
    if (at < 0 || !this.place.random.chance(0.05)) return super.apply(commit);
    return { error: new AgentError("conflict", "out of luck", { details: { index: at } }) };
  }
}

/** Checks by itself what a commit requires before its first write, and then does the rest. */
async function checkThen(
  commit: Commit,
  check: (commit: Commit) => Promise<CommitOutcome>,
  carryOut: (rest: Commit) => Promise<CommitOutcome>,
): Promise<CommitOutcome> {
  const { writes } = commit;
  const first = writes.findIndex(({ op }) => op !== "require");
  const count = first < 0 ? writes.length : first;
  const checked = await check({ writes: writes.slice(0, count) });
  if ("error" in checked) return checked;
  const outcome = await carryOut({ ...commit, writes: writes.slice(count) });
  if ("error" in outcome) return { error: atIndex(outcome.error, indexOf(outcome.error) + count) };
  const { changes, auto } = outcome.result;
  return {
    result: {
      changes: [...checked.result.changes, ...changes],
      auto: [...checked.result.auto, ...auto],
    },
  };
}

function indexOf(error: unknown): number {
  return AgentError.is(error) ? Number(error.details?.["index"]) : Number.NaN;
}

function atIndex(error: unknown, index: number): unknown {
  return AgentError.is(error, "conflict")
    ? new AgentError("conflict", error.message, { details: { ...error.details, index } })
    : error;
}
