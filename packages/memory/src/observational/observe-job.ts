import {
  assemble,
  insert,
  MESSAGES,
  OM_CHUNKS,
  OM_DOMAIN,
  OM_JOBS,
  OM_RECORDS,
  type OmJobRow,
  omLogOf,
  type OmState,
  remove,
  type Storage,
  THREADS,
  update,
  type Write,
} from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { askObserver } from "./ask-observer.ts";
import type { JobContext, JobReport } from "./job-context.ts";
import { countText, countTokens } from "./count-tokens.ts";
import { endChunk, titleChunk } from "./job-chunks.ts";
import { changeHints, extractedSoFar } from "./chunk-hints.ts";
import { addressOf, addUsage } from "./job-facts.ts";
import { hasOpenCall } from "./message-sums.ts";
import { publish } from "./publish.ts";
import { joinLog } from "./render-log.ts";

const PAGE = 100;

/** Messages with their numbers. */
interface Numbered {
  seq: number;
  message: StoredMessage;
  tokens: number;
}

/** Observes messages from the end of the coverage, as many as one call takes. The job waits again for the rest. */
export async function observe(job: OmJobRow, context: JobContext): Promise<JobReport | undefined> {
  const { server, threads, limits } = context;
  const { storage, system } = threads;
  const { observation } = server.config;
  const domain = await storage.domain(OM_DOMAIN);
  const address = addressOf(job);
  const state = await domain.read(address);
  const { record, part } = state;
  // The record was deleted, and the job with it.
  if (!record || !part) return undefined;
  const models = server.models.of("observation", { ...context, threadId: job.source });
  const batch = address.scope === "resource" ? observation.maxTokensPerBatch : Infinity;
  const most = Math.min(job.most ?? Infinity, limits.messageTokens, models.largestInput, batch);
  const { piece, isAll } = await nextPiece(storage, job, part.covered_seq, most);
  const [thread] = await storage.select({
    table: THREADS,
    where: { id: job.source },
    limit: 1,
    columns: ["title"],
  });
  const { notes, answer, values, hints } = await askObserver({
    job,
    context,
    messages: piece.map(({ message }) => message),
    tokens: sumOf(piece),
    most,
    models,
    log: logText(state, job),
    previous: extractedSoFar(state, job.source),
    threadTitle: thread?.title ?? undefined,
  });
  const now = Math.trunc(system.now());
  const chunkId = system.newId();
  const last = piece.at(-1);
  const tokens = notes.observations === "" ? 0 : countText(notes.observations);
  const title = observation.threadTitle
    ? newTitle(notes.threadTitle, thread?.title ?? null, record.hints)
    : undefined;
  const { thread_id, source } = job;
  const rest: Partial<OmJobRow> = isAll ? { state: "done" } : { state: "waiting", due_at: now, attempt: 0 };
  const writes: Write[] = [
    update(OM_JOBS, {
      where: { thread_id, id: job.id, owner: job.owner, fence: job.fence, state: "running" },
      set: { ...rest, owner: null, last_error: null },
      require: true,
    }),
    ...(isAll
      ? [remove(OM_JOBS, { thread_id, source, kind: "observe", state: "done", id: { ne: job.id } })]
      : []),
  ];
  if (last) {
    writes.push(
      // Exactly the messages after the covered ones: no one else has covered them in the meantime.
      update(OM_RECORDS, {
        where: { thread_id, source: part.source, covered_seq: part.covered_seq },
        set: { covered_seq: last.seq, covered_id: last.message.id, last_observed_at: now },
        require: true,
      }),
      insert(OM_CHUNKS, {
        thread_id,
        id: chunkId,
        source,
        kind: "observe",
        state: "buffered",
        generation: record.generation,
        first_seq: piece[0]!.seq,
        last_seq: last.seq,
        first_id: piece[0]!.message.id,
        last_id: last.message.id,
        message_count: piece.length,
        message_tokens: sumOf(piece),
        text: notes.observations,
        tokens,
        hints: hints as never,
        cycle_id: job.cycle_id!,
        input_tokens: sumOf(piece),
        created_at: now,
      }),
      update(OM_RECORDS, {
        where: { thread_id, source: "" },
        set: { updated_at: now },
        increment: { total_observed: sumOf(piece) },
        merge: { usage: { observation: addUsage(record.usage, "observation", answer) } as never },
      }),
    );
  }
  if (title !== undefined)
    writes.push(
      update(THREADS, { where: { id: source }, set: { title, updated_at: now } }),
      update(OM_RECORDS, { where: { thread_id, source: "" }, merge: { hints: { title } } }),
    );
  const chunks = [
    endChunk(job, now, {
      tokens: sumOf(piece),
      observationTokens: tokens,
      observations: notes.observations,
      currentTask: notes.currentTask,
      suggestedResponse: notes.suggestedResponse,
      extractedValues: hints.extracted,
      extractionFailures: hints.extractionFailures,
    }),
    ...(title === undefined ? [] : [titleChunk(job, now, thread?.title ?? null, title)]),
  ];
  const stored = await publish(threads, job, chunks, writes);
  if (stored && last)
    await server.index?.add(
      { id: chunkId, text: notes.observations },
      { threadId: source, resourceId: job.source_resource },
    );
  const changed = stored ? await values?.deliver() : undefined;
  if (changed) await changeHints(storage, { thread_id, id: chunkId }, changed);
  return answer && { model: answer.model, usage: answer.usage, providerMetadata: answer.providerMetadata };
}

/** The next messages after the covered ones: whole ones, up to the job's last one, none of which waits for a result. */
async function nextPiece(
  storage: Storage,
  job: OmJobRow,
  coveredSeq: number,
  maxTokens: number,
): Promise<{ piece: Numbered[]; isAll: boolean }> {
  const where = { thread_id: job.source };
  const [last] = await storage.select({
    table: MESSAGES,
    where: { ...where, id: job.to_id },
    limit: 1,
    columns: ["seq"],
  });
  // The last message was deleted: the next job covers what is left.
  if (!last || last.seq <= coveredSeq) return { piece: [], isAll: true };
  const piece: Numbered[] = [];
  let tokens = 0;
  for (let after = coveredSeq; ;) {
    const rows = await storage.select({
      table: MESSAGES,
      where: { ...where, seq: { gt: after, lte: last.seq } },
      orderBy: [{ column: "seq" }],
      limit: PAGE,
    });
    const messages = await assemble(storage, rows);
    for (const [index, message] of messages.entries()) {
      const count = countTokens(message);
      const isOpen = hasOpenCall(message.content.parts);
      if (isOpen) return { piece, isAll: true };
      if (piece.length > 0 && tokens + count > maxTokens) return { piece, isAll: false };
      piece.push({ seq: rows[index]!.seq, message, tokens: count });
      tokens += count;
    }
    if (rows.length < PAGE) return { piece, isAll: true };
    after = rows.at(-1)!.seq;
  }
}

/** The log, including chunks that are not active yet. */
export function logText({ chunks }: Pick<OmState, "chunks">, { source }: OmJobRow): string {
  const buffered = chunks.filter(
    (chunk) => chunk.state === "buffered" && chunk.kind === "observe" && chunk.source === source,
  );
  return joinLog([...omLogOf(chunks), ...buffered].filter(({ text }) => text !== ""));
}

/** A person's title stays; one that the observer wrote may be replaced. */
function newTitle(said: string | undefined, present: string | null, hints: unknown): string | undefined {
  if (said === undefined || said.length < 3 || said === present) return undefined;
  const own = (hints as { title?: unknown } | null)?.title;
  return present === null || present === "" || present === own ? said : undefined;
}

function sumOf(piece: readonly Numbered[]): number {
  return piece.reduce((sum, { tokens }) => sum + tokens, 0);
}
