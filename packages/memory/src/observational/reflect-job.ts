import {
  insert,
  OM_CHUNKS,
  OM_DOMAIN,
  OM_JOBS,
  OM_RECORDS,
  type OmChunkHints,
  type OmJobRow,
  omLogOf,
  remove,
  update,
  type Write,
} from "@selvedge/core/storage";
import type { ModelAnswer } from "@selvedge/core/model";
import { askRole } from "./ask-role.ts";
import { type JobContext, type JobReport, UnusableAnswer } from "./job-context.ts";
import { endChunk } from "./job-chunks.ts";
import { changeHints, extractedSoFar } from "./chunk-hints.ts";
import { extractValues } from "./extract-values.ts";
import { addressOf, addUsage } from "./job-facts.ts";
import { parseObservations } from "./parse-observations.ts";
import { publish } from "./publish.ts";
import { firstLevel, reflectWithPressure } from "./reflect-with-pressure.ts";
import { joinLog } from "./render-log.ts";
import { inlineExtractors, reflectorPrompt } from "./role-prompts.ts";

/** Rewrites the chunks that are active up to the job's position. The result waits until the log is full. */
export async function reflect(job: OmJobRow, context: JobContext): Promise<JobReport | undefined> {
  const { server, threads, limits, abortSignal } = context;
  const { storage, system } = threads;
  const { reflection } = server.config;
  const domain = await storage.domain(OM_DOMAIN);
  const state = await domain.read(addressOf(job));
  const { record, chunks } = state;
  if (!record) return undefined;
  const upto = job.upto ?? 0;
  const log = omLogOf(chunks).filter(({ position }) => (position ?? 0) <= upto);
  const inputTokens = log.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const hints = (record.hints ?? {}) as OmChunkHints;
  const previous = extractedSoFar(state, job.source);
  const logText = joinLog(log.filter(({ text }) => text !== ""));
  const extractors = await inlineExtractors(reflection.extract, previous, {
    threadId: job.source,
    resourceId: job.source_resource,
  });
  const model = await server.models
    .of("reflection", { ...context, threadId: job.source })
    .forInput(inputTokens);
  const answers: ModelAnswer[] = [];
  const result = await reflectWithPressure({
    inputTokens,
    targetTokens: Math.floor(limits.observationTokens / 2),
    firstLevel: firstLevel(typeof model === "string" ? model : ""),
    ask: async (level) => {
      const request = reflectorPrompt({
        config: reflection,
        log: logText,
        level,
        extractors,
        currentTask: hints.currentTask ?? undefined,
      });
      const said = await askRole(model, request, reflection, { system, abortSignal });
      answers.push(said);
      return parseObservations(said.text, { slugs: extractors.map(({ slug }) => slug) });
    },
  });
  const usage = answers.reduce(
    (sum, answer) => addUsage({ sum }, "sum", answer),
    addUsage({}, "", undefined),
  );
  if (!result.ok)
    throw new UnusableAnswer(
      result.reason === "too-long"
        ? `The reflection was not shorter than the ${inputTokens} tokens that it would replace.`
        : `The reflection was ${result.reason}.`,
    );
  const { notes } = result.parsed;
  const values = await extractValues({
    job,
    notes,
    previous,
    role: reflection,
    model,
    context,
    quoted: logText,
  });
  const now = Math.trunc(system.now());
  const chunkId = system.newId();
  const { thread_id } = job;
  const own: OmChunkHints = {
    ...(notes.currentTask !== undefined && { currentTask: notes.currentTask }),
    ...(notes.suggestedResponse !== undefined && { suggestedResponse: notes.suggestedResponse }),
    ...values.hints,
  };
  const writes: Write[] = [
    update(OM_JOBS, {
      where: { thread_id, id: job.id, owner: job.owner, fence: job.fence, state: "running" },
      set: { state: "done", owner: null, last_error: null },
      require: true,
    }),
    remove(OM_JOBS, { thread_id, kind: "reflect", state: "done", id: { ne: job.id } }),
    update(OM_RECORDS, {
      where: { thread_id, source: "", generation: record.generation },
      set: { reflected: upto, reflected_tokens: inputTokens, updated_at: now },
      merge: { usage: { reflection: addUsage(record.usage, "reflection", { usage }) } as never },
      require: true,
    }),
    insert(OM_CHUNKS, {
      thread_id,
      id: chunkId,
      source: job.source,
      kind: "reflect",
      state: "buffered",
      generation: record.generation + 1,
      upto,
      first_seq: 0,
      last_seq: 0,
      message_count: 0,
      message_tokens: 0,
      text: notes.observations,
      tokens: result.tokens,
      hints: own as never,
      cycle_id: job.cycle_id!,
      input_tokens: inputTokens,
      created_at: now,
    }),
  ];
  const chunk = endChunk(job, now, {
    tokens: inputTokens,
    observationTokens: result.tokens,
    observations: notes.observations,
    currentTask: notes.currentTask,
    suggestedResponse: notes.suggestedResponse,
    extractedValues: own.extracted,
    extractionFailures: own.extractionFailures,
  });
  const stored = await publish(threads, job, [chunk], writes);
  const changed = stored ? await values.deliver() : undefined;
  if (changed) await changeHints(storage, { thread_id, id: chunkId }, changed);
  const last = answers.at(-1);
  return { model: last?.model, usage, providerMetadata: last?.providerMetadata };
}
