import type { FileMessagePart } from "@selvedge/protocol";
import { escapeNotes } from "./escape-notes.ts";
import type { Extractor, ExtractorContext } from "./extractor.ts";
import type { ObservationConfig, ReflectionConfig } from "./om-config.ts";
import {
  COMPRESSION,
  OBSERVER_TASK,
  OUTPUT_CURRENT_TASK,
  OUTPUT_OBSERVATIONS,
  OUTPUT_SUGGESTED_RESPONSE,
  OUTPUT_THREADS,
  OUTPUT_TITLE,
  REFLECTOR_TASK,
} from "./om-texts.ts";
import type { RenderedConversation } from "./render-observed.ts";

/** A request to a model: the task is in the system prompt, everything quoted in the user message. */
export interface RoleRequest {
  system: string;
  prompt: string;
  attachments: readonly FileMessagePart[];
}

/** An extractor whose value is a tag of the output, with its instructions resolved. */
export interface InlineExtractor {
  slug: string;
  instructions: string;
  previous?: unknown;
}

/** The inline extractors of a role, ready for its prompt. */
export async function inlineExtractors(
  extract: readonly Extractor[],
  previous: Readonly<Record<string, unknown>>,
  context: ExtractorContext,
): Promise<InlineExtractor[]> {
  const inline = extract.filter(({ schema }) => schema === undefined);
  return Promise.all(inline.map((one) => resolveExtractor(one, previous, context)));
}

export async function resolveExtractor(
  { slug, instructions, includePreviousExtraction }: Extractor,
  previous: Readonly<Record<string, unknown>>,
  context: ExtractorContext,
): Promise<InlineExtractor> {
  const text = typeof instructions === "function" ? await instructions(context) : instructions;
  return { slug, instructions: text, ...(includePreviousExtraction && { previous: previous[slug] }) };
}

export function observerPrompt(input: {
  config: Pick<ObservationConfig, "instruction" | "hints" | "threadTitle">;
  conversation: RenderedConversation;
  /** The part of the log that the observer sees. */
  log: string;
  extractors?: readonly InlineExtractor[];
  threadTitle?: string | undefined;
  byThread?: boolean;
}): RoleRequest {
  const { config, conversation, log, extractors = [], threadTitle, byThread } = input;
  const { currentTask, suggestedResponse } = config.hints;
  const elements = [
    ...(currentTask ? [OUTPUT_CURRENT_TASK] : []),
    ...(suggestedResponse ? [OUTPUT_SUGGESTED_RESPONSE] : []),
    ...(config.threadTitle ? [OUTPUT_TITLE] : []),
    ...extractors.map(extractorElement),
  ];
  const output = byThread
    ? [
        OUTPUT_OBSERVATIONS,
        OUTPUT_THREADS,
        ...(elements.length > 0 ? ["In each <thread> block, after its notes:", ...elements] : []),
      ]
    : [OUTPUT_OBSERVATIONS, ...elements];
  return {
    system: join([OBSERVER_TASK, ...output, config.instruction]),
    prompt: join([
      quote("log", log),
      ...previousValues(extractors),
      threadTitle ? quote("present-title", threadTitle) : "",
      conversation.text,
      "Write the notes on the conversation.",
    ]),
    attachments: conversation.attachments,
  };
}

export function reflectorPrompt(input: {
  config: Pick<ReflectionConfig, "instruction" | "hints">;
  log: string;
  /** 0 to 4: how much the notes must shrink. */
  level: number;
  extractors?: readonly InlineExtractor[];
  currentTask?: string | undefined;
}): RoleRequest {
  const { config, log, level, extractors = [], currentTask } = input;
  return {
    system: join([
      REFLECTOR_TASK,
      COMPRESSION[Math.min(Math.max(level, 0), COMPRESSION.length - 1)],
      OUTPUT_OBSERVATIONS,
      config.hints.currentTask ? OUTPUT_CURRENT_TASK : "",
      config.hints.suggestedResponse ? OUTPUT_SUGGESTED_RESPONSE : "",
      ...extractors.map(extractorElement),
      config.instruction,
    ]),
    prompt: join([
      quote("log", log),
      ...previousValues(extractors),
      currentTask ? quote("current-task", currentTask) : "",
      "Rewrite the log.",
    ]),
    attachments: [],
  };
}

export function extractorElement({ slug, instructions }: InlineExtractor): string {
  return `<${slug}>\n${instructions}\n</${slug}>`;
}

function previousValues(extractors: readonly InlineExtractor[]): string[] {
  return extractors.flatMap(({ slug, previous }) => {
    if (previous === undefined || previous === null || previous === "") return [];
    return [quote(`previous-${slug}`, typeof previous === "string" ? previous : JSON.stringify(previous))];
  });
}

function quote(tag: string, text: string): string {
  return text.trim() === "" ? "" : `<${tag}>\n${escapeNotes(text)}\n</${tag}>`;
}

function join(parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part !== undefined && part !== "").join("\n\n");
}
