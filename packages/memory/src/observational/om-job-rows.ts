import { insert, OM_JOBS, type OmAddress, omKeyOf, update, type Write } from "@selvedge/core/storage";

interface NewJob {
  address: OmAddress;
  agentId: string;
  now: number;
  /** The earliest start. Default: now. */
  dueAt?: number | undefined;
  tokens: number;
  /** A run will wait for it. */
  waited: boolean;
}

/** An observation of the messages after `afterId`, up to `toId`. Failed jobs of the thread are retried first. */
export function insertObservation(job: NewJob & { afterId: string | null; toId: string }): Write[] {
  const { address, now } = job;
  return [
    insert(
      OM_JOBS,
      { ...newJob(job), id: jobId(address, "observe", job.afterId ?? ""), kind: "observe", to_id: job.toId },
      "ignore",
    ),
    update(OM_JOBS, {
      where: {
        thread_id: omKeyOf(address),
        source: address.threadId,
        kind: { in: ["observe", "renew"] },
        state: "failed",
      },
      set: { state: "waiting", attempt: 0, due_at: now },
    }),
  ];
}

/** A reflection of the chunks that are active up to a position. */
export function insertReflection(job: NewJob & { upto: number }): Write {
  const { address, upto } = job;
  return insert(
    OM_JOBS,
    { ...newJob(job), id: jobId(address, "reflect", String(upto)), kind: "reflect", upto },
    "ignore",
  );
}

function newJob({ address, agentId, now, dueAt = now, tokens, waited }: NewJob) {
  return {
    thread_id: omKeyOf(address),
    source: address.threadId,
    source_resource: address.resourceId,
    tokens,
    state: "waiting" as const,
    attempt: 0,
    due_at: dueAt,
    fence: 0,
    agent_id: agentId,
    waited: waited ? 1 : 0,
    created_at: now,
  };
}

/** No range has two jobs. */
function jobId(address: OmAddress, kind: string, begin: string): string {
  const source = address.scope === "resource" ? address.threadId : "";
  return [omKeyOf(address), source, kind, begin].join("\n");
}
