import { createTool, type JsonSchema, type Tool } from "@selvedge/core/tools";
import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { sliceByTokens } from "tokenx";
import { countText } from "./count-tokens.ts";
import { toLocalTime } from "./local-time.ts";
import { isSpoken, type RecallPort } from "./recall-port.ts";

export const RECALL_TOOL = "recall";

const MOST_TOKENS = 2_000;
const MOST_PAGES = 50;
const MOST_MESSAGES = 20;
const MOST_THREADS = 50;
/** Per part, unless it is requested in full. */
const PART_TOKENS = 120;
/** Lines of notes beside the messages that a search finds. */
const MOST_NOTES = 5;

interface RecallInput {
  mode?: "messages" | "threads" | "search";
  query?: string;
  cursor?: string;
  threadId?: string;
  anchor?: "start" | "end";
  page?: number;
  limit?: number;
  detail?: "low" | "high";
  partType?: string;
  toolName?: string;
  partIndex?: number;
  charOffset?: number;
  before?: string;
  after?: string;
}

const text = (description: string): JsonSchema => ({ type: "string", description });
const whole = (description: string): JsonSchema => ({ type: "integer", description });
const choice = (values: string[], description: string): JsonSchema => ({
  type: "string",
  enum: values,
  description,
});

const INPUT: JsonSchema = {
  type: "object",
  properties: {
    mode: choice(["messages", "threads", "search"], 'What to read. "messages" unless given.'),
    query: text("For search: the words to search for."),
    cursor: text("The id of a message to start at: one end of a range in the notes."),
    threadId: text('Another conversation with this user. "current" unless given.'),
    anchor: choice(["start", "end"], 'Without a cursor: where to start. "start" unless given.'),
    page: whole("1 is the page at the cursor or anchor. Negative pages go back from the cursor."),
    limit: whole(`How many to read, at most ${MOST_MESSAGES} messages or ${MOST_THREADS} conversations.`),
    detail: choice(["low", "high"], '"high" gives one part of the message at the cursor in full.'),
    partType: choice(["text", "tool", "file"], "Show only parts of this kind."),
    toolName: text("Show only calls of this tool."),
    partIndex: whole("With high detail: which part, from 0."),
    charOffset: whole("With high detail: continue at this character."),
    before: text("For threads: only those used before this date."),
    after: text("For threads: only those used at or after this date."),
  },
  additionalProperties: false,
};

/**
 * The tool that lets the model read the messages behind the notes. Invalid input returns a short hint, not an error.
 */
export function recallTool(port: RecallPort, options: { timeZone?: string } = {}): Tool {
  const time = toLocalTime(options.timeZone ?? "UTC");
  return createTool({
    id: RECALL_TOOL,
    description:
      "Reads earlier messages of your conversations with this user: around a message id from the notes, by keyword, or by conversation.",
    inputSchema: INPUT,
    idempotent: true,
    execute: async ({ context }) => recall(port, context as RecallInput, time),
  });
}

type Time = (date: Date) => string;

async function recall(port: RecallPort, input: RecallInput, time: Time): Promise<object> {
  const { mode = "messages", page = 1 } = input;
  if (!Number.isInteger(page) || page === 0 || Math.abs(page) > MOST_PAGES) {
    return hint(
      `page must be from 1 to ${MOST_PAGES}, or from -1 to -${MOST_PAGES}. Use a cursor or mode "search" to get further.`,
    );
  }
  if (mode === "threads") return listThreads(port, input, page, time);
  const threadId = input.threadId === undefined || input.threadId === "current" ? undefined : input.threadId;
  if (threadId !== undefined && !(await port.thread(threadId))) {
    return hint('There is no such conversation. List them with mode "threads".');
  }
  const limit = atMost(input.limit, MOST_MESSAGES);
  if (mode === "search") {
    if (!input.query?.trim()) return hint("Pass the words to search for as query.");
    const notes = await port.searchNotes(input.query, { threadId, limit: MOST_NOTES });
    const found = await port.search(input.query, { threadId, limit });
    if (found.length + notes.length === 0) return hint("Nothing was found. Try other or fewer words.");
    const lines = notes.map(({ text, firstId, lastId }) => `${firstId}:${lastId} ${cut(text, PART_TOKENS)}`);
    const result = showMessages(found, input, time, MOST_TOKENS - countText(lines.join("\n")));
    return {
      ...(lines.length > 0 && { notes: lines.join("\n") }),
      ...result,
      hint: "Read around a hit by passing its id, or one end of its range, as cursor.",
    };
  }
  if (input.cursor === undefined) {
    return readThread(port, threadId ?? port.currentThreadId, input, { page: Math.abs(page), limit }, time);
  }
  const message = await port.message(input.cursor);
  if (!message || (threadId !== undefined && message.threadId !== threadId)) return noCursor(input.cursor);
  if (input.detail === "high") return showPart(message, input, time);
  return readAround(port, message, input, { page, limit }, time);
}

async function listThreads(port: RecallPort, input: RecallInput, page: number, time: Time): Promise<object> {
  const limit = atMost(input.limit, MOST_THREADS);
  const dates = [input.before, input.after].map((one) => (one === undefined ? undefined : new Date(one)));
  const [before, after] = dates;
  if (dates.some((date) => date && Number.isNaN(date.getTime())))
    return hint("before and after must be dates such as 2026-03-14.");
  const offset = (Math.abs(page) - 1) * limit;
  const threads = await port.threads({
    ...(before && { before }),
    ...(after && { after }),
    offset,
    limit: limit + 1,
  });
  const lines = threads
    .slice(0, limit)
    .map(
      ({ id, title, updatedAt }) =>
        `${id}${id === port.currentThreadId ? " (current)" : ""} ${time(updatedAt)} ${title ?? "(no title)"}`,
    );
  const { shown, truncated } = fit(lines);
  return {
    threads: shown.join("\n"),
    count: shown.length,
    page: Math.abs(page),
    hasNextPage: threads.length > limit,
    hasPrevPage: offset > 0,
    ...(truncated && { truncated, hint: "Pass a smaller limit and read the next page." }),
  };
}

interface Window {
  page: number;
  limit: number;
}

async function readThread(
  port: RecallPort,
  threadId: string,
  input: RecallInput,
  { page, limit }: Window,
  time: Time,
): Promise<object> {
  const from = input.anchor ?? "start";
  const offset = (page - 1) * limit;
  const messages = await port.list(threadId, { from, offset, limit: limit + 1 });
  const hasMore = messages.length > limit;
  const shown = from === "start" ? messages.slice(0, limit) : messages.slice(-limit);
  const [next, previous] = from === "start" ? [hasMore, page > 1] : [page > 1, hasMore];
  return { ...showMessages(shown, input, time), page, hasNextPage: next, hasPrevPage: previous };
}

async function readAround(
  port: RecallPort,
  message: StoredMessage,
  input: RecallInput,
  { page, limit }: Window,
  time: Time,
): Promise<object> {
  const reach = Math.abs(page) * limit;
  const isBack = page < 0;
  const around = await port.around(message, { before: isBack ? reach + 1 : 1, after: isBack ? 0 : reach });
  const at = around.findIndex(({ id }) => id === message.id);
  const start = isBack ? Math.max(0, at - reach) : at + reach - limit;
  const end = isBack ? Math.max(0, at - reach + limit) : at + reach;
  return {
    ...showMessages(around.slice(start, end), input, time),
    page,
    hasNextPage: isBack || around.length > end,
    hasPrevPage: start > 0,
  };
}

/** Messages in short, as many as fit. */
function showMessages(
  messages: readonly StoredMessage[],
  input: RecallInput,
  time: Time,
  mostTokens: number = MOST_TOKENS,
): object {
  const spoken = messages.filter(isSpoken);
  const entries = spoken.map((message) => {
    const parts = partsOf(message, input).map(({ index, body }) => {
      const short = cut(body.replaceAll(/\s+/g, " "), PART_TOKENS);
      return `  [${index}] ${short}`;
    });
    const head = `${message.id} ${time(message.createdAt)} ${message.role === "assistant" ? "assistant" : "user"}`;
    return [head, ...parts].join("\n");
  });
  const { shown, truncated } = fit(entries, mostTokens);
  const next = spoken[shown.length];
  return {
    messages: shown.join("\n"),
    count: shown.length,
    truncated,
    ...(truncated && next && { hint: `There is more. Continue with cursor ${JSON.stringify(next.id)}.` }),
    ...(spoken.length === 0 && { hint: "There are no messages here." }),
  };
}

/** One part in full, or as much of it as fits. */
function showPart(message: StoredMessage, input: RecallInput, time: Time): object {
  const parts = isSpoken(message) ? partsOf(message, input) : [];
  const part =
    input.partIndex === undefined ? parts[0] : parts.find(({ index }) => index === input.partIndex);
  if (!part) {
    const known = parts.map(({ index }) => index).join(", ");
    return hint(
      known === ""
        ? "This message has no such part."
        : `This message has the parts ${known}. Pass one as partIndex.`,
    );
  }
  const offset = Math.max(0, Math.trunc(input.charOffset ?? 0));
  const shown = sliceByTokens(part.body.slice(offset), 0, MOST_TOKENS);
  const end = offset + shown.length;
  const truncated = end < part.body.length;
  return {
    cursor: message.id,
    at: time(message.createdAt),
    partIndex: part.index,
    text: shown,
    truncated,
    ...(truncated && { nextCharOffset: end }),
  };
}

function partsOf(
  message: StoredMessage,
  { partType, toolName }: RecallInput,
): { index: number; body: string }[] {
  const { parts, content } = message.content;
  if (parts.length === 0 && content)
    return partType && partType !== "text" ? [] : [{ index: 0, body: content }];
  return parts.flatMap((part, index) => {
    if (
      toolName !== undefined &&
      !(part.type === "tool-invocation" && part.toolInvocation.toolName === toolName)
    )
      return [];
    const shown = showable(part);
    return shown && (partType === undefined || partType === shown.kind) ? [{ index, body: shown.body }] : [];
  });
}

function showable(part: MessagePart): { kind: string; body: string } | undefined {
  if (part.type === "text") return { kind: "text", body: part.text };
  if (part.type === "file") return { kind: "file", body: `(${part.mimeType}) ${part.filename ?? ""}`.trim() };
  if (part.type !== "tool-invocation" || part.toolInvocation.state === "partial-call") return undefined;
  const { toolName, args, state, result, modelOutput } = part.toolInvocation;
  const output = modelOutput ?? result;
  const json = (value: unknown): string =>
    typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const outcome = output === undefined ? state : json(output);
  return { kind: "tool", body: `${toolName}(${json(args)}) → ${outcome}` };
}

/** As many entries as fit into a result; at least the first. */
function fit(
  entries: readonly string[],
  mostTokens: number = MOST_TOKENS,
): { shown: string[]; truncated: boolean } {
  let left = mostTokens;
  const shown: string[] = [];
  for (const entry of entries) {
    left -= countText(entry) + 1;
    if (left < 0) break;
    shown.push(entry);
  }
  if (shown.length === 0 && entries.length > 0) shown.push(cut(entries[0]!, mostTokens));
  return { shown, truncated: shown.length < entries.length };
}

function cut(body: string, tokens: number): string {
  return countText(body) <= tokens ? body : `${sliceByTokens(body, 0, tokens)}…`;
}

function noCursor(cursor: string): object {
  const [first, last] = cursor.split(":");
  if (last === undefined)
    return hint("There is no message with this id. Use an id from the notes or from a search.");
  return hint(
    `This is a range. Pass one end of it as cursor: ${JSON.stringify(first)} or ${JSON.stringify(last)}.`,
  );
}

function atMost(limit: number | undefined, most: number): number {
  return Number.isInteger(limit) && limit! > 0 ? Math.min(limit!, most) : MOST_MESSAGES;
}

function hint(message: string): object {
  return { hint: message };
}
