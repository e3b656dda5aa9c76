import { AgentError, errorMessage } from "@selvedge/core/errors";
import { realSystem, type System } from "@selvedge/core/memory";
import { type MessageLike, MessageList } from "@selvedge/core/message";
import { askModelWithUsage, type ModelAnswer, type ModelConfig } from "@selvedge/core/model";
import type { RequestContext } from "@selvedge/core/request-context";
import type { StoredMessage } from "@selvedge/protocol";
import { countTokens } from "./count-tokens.ts";
import { extractWithSchema } from "./extract-with-schema.ts";
import type { Extractor } from "./extractor.ts";
import { leftOutLine, SUMMARY_TASK } from "./om-texts.ts";
import type { OmUsage } from "./om-options.ts";
import { readBlocks } from "./read-blocks.ts";
import { renderObserved } from "./render-observed.ts";
import { extractorElement, inlineExtractors } from "./role-prompts.ts";

export interface SummarizeOptions {
  model: ModelConfig;
  /** Only this many of the newest messages. */
  lastMessages?: number | undefined;
  /** Leaves out the oldest messages above this. Default: 1,000,000. */
  maxInputTokens?: number | undefined;
  /** Added to the task. */
  instructions?: string | undefined;
  extract?: readonly Extractor[] | undefined;
  requestContext?: RequestContext | undefined;
  abortSignal?: AbortSignal | undefined;
  timeZone?: string | undefined;
  system?: System | undefined;
}

export interface SummarizeConversationOptions extends SummarizeOptions {
  messages: readonly MessageLike[];
}

export interface ConversationSummary {
  summary: string;
  /** By slug. */
  extracted: Record<string, unknown>;
  extractionFailures?: { slug: string; error: string }[];
  usage: OmUsage;
}

/** Summarises given messages, and extracts values from them. Stores nothing. */
export async function summarizeConversation(
  options: SummarizeConversationOptions,
): Promise<ConversationSummary> {
  const { model, extract = [], requestContext, abortSignal, system = realSystem } = options;
  const { quoted, attachments } = quote(options, system);
  const context = { requestContext };
  const inline = await inlineExtractors(extract, {}, context);
  const usage: OmUsage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const ask = async (request: Parameters<typeof askModelWithUsage>[1]): Promise<ModelAnswer> => {
    const answer = await askModelWithUsage(model, {
      ...request,
      temperature: 0.3,
      abortSignal,
      clock: system,
    });
    for (const key of ["inputTokens", "outputTokens", "totalTokens"] as const)
      usage[key] = (usage[key] ?? 0) + (answer.usage[key] ?? 0);
    return answer;
  };
  const task = [SUMMARY_TASK, ...inline.map(extractorElement), options.instructions].filter(Boolean);
  const { text } = await ask({ system: task.join("\n\n"), prompt: quoted, attachments });
  const blocks = readBlocks(text, new Set(["summary", ...inline.map(({ slug }) => slug)]), []);
  const value = (tag: string | undefined): string =>
    blocks
      .filter((block) => block.tag === tag)
      .map(({ lines }) => lines.join("\n").trim())
      .join("\n")
      .trim();
  const summary = value("summary") || value(undefined);
  if (summary === "") {
    throw new AgentError("model-incomplete", "The model wrote no summary. Try again, or use another model.");
  }
  const extracted: Record<string, unknown> = {};
  const extractionFailures: { slug: string; error: string }[] = [];
  for (const extractor of extract) {
    const { slug, schema } = extractor;
    try {
      const found = schema
        ? await extractWithSchema(extractor, {
            previous: {},
            context,
            quoted,
            ask: (request, format) =>
              ask({ ...request, responseFormat: { type: "json", schema: format as never } }),
          })
        : value(slug) || undefined;
      if (found !== undefined) extracted[slug] = found;
    } catch (error) {
      abortSignal?.throwIfAborted();
      extractionFailures.push({ slug, error: errorMessage(error) });
    }
  }
  return { summary, extracted, ...(extractionFailures.length > 0 && { extractionFailures }), usage };
}

function quote(
  { messages, lastMessages, maxInputTokens = 1_000_000, timeZone }: SummarizeConversationOptions,
  system: System,
): { quoted: string; attachments: ReturnType<typeof renderObserved>["attachments"] } {
  const all = new MessageList(system).add([...messages], "input").get.all.db();
  const wanted = lastMessages === undefined ? all : all.slice(Math.max(0, all.length - lastMessages));
  const kept: StoredMessage[] = [];
  let left = maxInputTokens;
  for (const message of wanted.toReversed()) {
    left -= countTokens(message);
    if (left < 0 && kept.length > 0) break;
    kept.unshift(message);
  }
  const { text, attachments, isEmpty } = renderObserved(kept, { timeZone, maxTextTokens: maxInputTokens });
  if (isEmpty) {
    throw new AgentError("invalid-argument", `There is nothing to summarise in ${all.length} messages.`);
  }
  const omitted = wanted.length - kept.length;
  return { quoted: omitted > 0 ? `${leftOutLine(omitted)}\n\n${text}` : text, attachments };
}
