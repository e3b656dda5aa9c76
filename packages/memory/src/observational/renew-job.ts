import {
  assemble,
  MESSAGES,
  OM_CHUNKS,
  OM_DOMAIN,
  OM_JOBS,
  OM_RECORDS,
  type OmJobRow,
  remove,
  update,
  type Write,
} from "@selvedge/core/storage";
import { askObserver } from "./ask-observer.ts";
import { changeHints, extractedSoFar } from "./chunk-hints.ts";
import { countText, countTokens } from "./count-tokens.ts";
import { endChunk } from "./job-chunks.ts";
import type { JobContext, JobReport } from "./job-context.ts";
import { addressOf, addUsage } from "./job-facts.ts";
import { logText } from "./observe-job.ts";
import { publish } from "./publish.ts";

/** Observes the messages of one chunk again, without those that were deleted. */
export async function renew(job: OmJobRow, context: JobContext): Promise<JobReport | undefined> {
  const { server, threads, limits } = context;
  const { storage, system } = threads;
  const { thread_id, source } = job;
  const domain = await storage.domain(OM_DOMAIN);
  const state = await domain.read(addressOf(job));
  const chunk = state.chunks.find(({ id }) => id === job.to_id);
  const fenced = { thread_id, id: job.id, owner: job.owner, fence: job.fence, state: "running" } as const;
  const writes: Write[] = [remove(OM_JOBS, fenced, { require: true })];
  const nothing = { tokens: 0, observationTokens: 0, observations: "" };
  if (!chunk || !state.record) {
    // A reflection stands for it now, or it was deleted.
    await publish(threads, job, [endChunk(job, Math.trunc(system.now()), nothing)], writes);
    return undefined;
  }
  const { record } = state;
  const rows = await storage.select({
    table: MESSAGES,
    where: { thread_id: source, seq: { gte: chunk.first_seq, lte: chunk.last_seq } },
    orderBy: [{ column: "seq" }],
  });
  const messages = await assemble(storage, rows);
  const messageTokens = messages.reduce((sum, message) => sum + countTokens(message), 0);
  const others = state.chunks.filter(({ id, number }) => id !== chunk.id && number < chunk.number);
  const models = server.models.of("observation", { ...context, threadId: source });
  const { notes, answer, values, hints } = await askObserver({
    job,
    context,
    messages,
    tokens: messageTokens,
    most: Math.min(limits.messageTokens, models.largestInput),
    models,
    log: logText({ chunks: others }, job),
    previous: extractedSoFar({ ...state, chunks: others }, source),
    threadTitle: undefined,
  });
  const now = Math.trunc(system.now());
  const tokens = notes.observations === "" ? 0 : countText(notes.observations);
  writes.push(
    update(OM_CHUNKS, {
      where: { thread_id, id: chunk.id, state: chunk.state },
      set: {
        text: notes.observations,
        tokens,
        hints: hints as never,
        message_count: messages.length,
        message_tokens: messageTokens,
        first_id: messages[0]?.id ?? null,
        last_id: messages.at(-1)?.id ?? null,
      },
      require: true,
    }),
    update(OM_RECORDS, {
      where: { thread_id, source: "", version: record.version },
      set: { version: record.version + 1, reflected_tokens: 0, updated_at: now },
      increment: { log_tokens: chunk.state === "active" ? tokens - chunk.tokens : 0 },
      merge: { usage: { observation: addUsage(record.usage, "observation", answer) } as never },
      require: true,
    }),
  );
  // A reflection that is not active yet has read what was deleted: it is made again when it is due.
  if (chunk.state === "active")
    writes.push(
      remove(OM_CHUNKS, { thread_id, kind: "reflect", state: "buffered" }),
      remove(OM_JOBS, { thread_id, kind: "reflect", state: { in: ["waiting", "running", "failed"] } }),
    );
  const end = endChunk(job, now, {
    tokens: messageTokens,
    observationTokens: tokens,
    observations: notes.observations,
    extractedValues: hints.extracted,
    extractionFailures: hints.extractionFailures,
  });
  const stored = await publish(threads, job, [end], writes);
  if (stored)
    await server.index?.add(
      { id: chunk.id, text: notes.observations },
      { threadId: source, resourceId: job.source_resource },
    );
  const changed = stored ? await values?.deliver() : undefined;
  if (changed) await changeHints(storage, { thread_id, id: chunk.id }, changed);
  return answer && { model: answer.model, usage: answer.usage, providerMetadata: answer.providerMetadata };
}
