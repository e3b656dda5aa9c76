import { type ModelAnswer, type ModelConfig, resolveModel } from "@selvedge/core/model";
import type { OmChunkHints, OmJobRow } from "@selvedge/core/storage";
import type { StoredMessage } from "@selvedge/protocol";
import { askRole } from "./ask-role.ts";
import { type ExtractedValues, extractValues } from "./extract-values.ts";
import { type JobContext, UnusableAnswer } from "./job-context.ts";
import type { ObservationConfig } from "./om-config.ts";
import { type Notes, parseObservations } from "./parse-observations.ts";
import { renderObserved } from "./render-observed.ts";
import type { RoleModel } from "./role-models.ts";
import { inlineExtractors, observerPrompt } from "./role-prompts.ts";
import { selectPreviousLog } from "./select-previous-log.ts";

interface ObserverInput {
  job: OmJobRow;
  context: JobContext;
  messages: readonly StoredMessage[];
  tokens: number;
  /** A single message is cut after so many tokens. */
  most: number;
  models: RoleModel;
  /** The notes before these messages. */
  log: string;
  previous: Record<string, unknown>;
  threadTitle: string | undefined;
}

export interface Observed {
  notes: Notes;
  /** Absent if there was nothing to observe. */
  answer?: ModelAnswer;
  values?: ExtractedValues;
  /** What a chunk keeps beside the notes. */
  hints: OmChunkHints;
}

/** The observer's notes about messages. */
export async function askObserver(input: ObserverInput): Promise<Observed> {
  const { job, context, messages, previous } = input;
  const { config } = context.server;
  const { observation } = config;
  const { threads, abortSignal } = context;
  const nothing: Observed = { notes: { observations: "", extracted: {} }, hints: {} };
  if (messages.length === 0) return nothing;
  const model = await input.models.forInput(input.tokens);
  const rendered = renderObserved(messages, {
    observeAttachments: await readable(observation.observeAttachments, model),
    temporalMarkers: config.temporalMarkers,
    ...(messages.length === 1 && { maxTextTokens: input.most }),
  });
  if (rendered.isEmpty) return nothing;
  const extractors = await inlineExtractors(observation.extract, previous, {
    threadId: job.source,
    resourceId: job.source_resource,
  });
  const request = observerPrompt({
    config: observation,
    conversation: rendered,
    log: selectPreviousLog(input.log, observation.previousObserverTokens),
    extractors,
    threadTitle: input.threadTitle,
  });
  const { notes, answer } = await askTwice(async () => {
    const said = await askRole(model, request, observation, { system: threads.system, abortSignal });
    const parsed = parseObservations(said.text, { slugs: extractors.map(({ slug }) => slug) });
    return { said, parsed };
  });
  const quoted = rendered.text;
  const values = await extractValues({ job, notes, previous, role: observation, model, context, quoted });
  const { currentTask, suggestedResponse, threadTitle } = notes;
  const hints: OmChunkHints = {
    ...(currentTask !== undefined && { currentTask }),
    ...(suggestedResponse !== undefined && { suggestedResponse }),
    ...(threadTitle !== undefined && { threadTitle }),
    ...values.hints,
  };
  return { notes, answer, values, hints };
}

/** For `"auto"`, the types that the model itself says it reads, and images. */
async function readable(
  which: ObservationConfig["observeAttachments"],
  model: ModelConfig,
): Promise<Exclude<ObservationConfig["observeAttachments"], "auto">> {
  if (which !== "auto") return which;
  const [first] = await resolveModel(model);
  const { supportedUrls } = (first?.model ?? {}) as { supportedUrls?: Promise<object> | object };
  const types = Object.keys((await supportedUrls) ?? {});
  return types.some((type) => type === "*" || type === "*/*") || ["image/*", ...types];
}

/** An unusable answer is requested once more. */
async function askTwice(
  ask: () => Promise<{ said: ModelAnswer; parsed: ReturnType<typeof parseObservations> }>,
): Promise<{ notes: Notes; answer: ModelAnswer }> {
  let { said, parsed } = await ask();
  if (!parsed.ok) ({ said, parsed } = await ask());
  if (!parsed.ok) throw new UnusableAnswer(`The answer of ${said.model} was ${parsed.reason}.`);
  return { notes: parsed.notes, answer: said };
}
