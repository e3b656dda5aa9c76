import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredMessage, StoredThread } from "@selvedge/protocol";
import { isFromPerson } from "../is-from-person.ts";
import { logLines } from "./log-lines.ts";

/** What `recall` may read. Anything of another resource, or out of scope, is absent. */
export interface RecallPort {
  readonly currentThreadId: string;
  thread(threadId: string): Promise<StoredThread | undefined>;
  threads(options: { before?: Date; after?: Date; offset: number; limit: number }): Promise<StoredThread[]>;
  message(id: string): Promise<StoredMessage | undefined>;
  /** Messages from this one on, including it; or those before it, oldest first. */
  around(message: StoredMessage, options: { before: number; after: number }): Promise<StoredMessage[]>;
  /** Messages of a thread in order, from its start or its end. */
  list(
    threadId: string,
    options: { from: "start" | "end"; offset: number; limit: number },
  ): Promise<StoredMessage[]>;
  /** Notes that match a query, best first, with the ids of the messages behind them: by meaning, then lines by words. */
  searchNotes(query: string, options: { threadId?: string | undefined; limit: number }): Promise<FoundNote[]>;
  /** Messages that match a query, best first. */
  search(query: string, options: { threadId?: string | undefined; limit: number }): Promise<StoredMessage[]>;
}

export interface FoundNote {
  text: string;
  firstId: string;
  lastId: string;
}

export interface RecallPortOptions {
  store: ThreadDomain;
  threadId: string;
  resourceId: string;
  scope: "thread" | "resource";
  /** The newest chunks of notes, including those rewritten since. */
  readNotes?: () => Promise<FoundNote[]>;
  /** Finds groups of notes by meaning, if there is an index. */
  findNotes?: (
    query: string,
    threadId: string | undefined,
    limit: number,
  ) => Promise<(FoundNote & { threadId: string })[]>;
}

const THREADS_READ = 100;
const MOST_WORDS = 6;

/** Access to the messages of one resource. */
export function recallPort(options: RecallPortOptions): RecallPort {
  const { store, threadId: current, resourceId, scope, findNotes, readNotes } = options;
  const mayRead = (thread: StoredThread): boolean =>
    thread.resourceId === resourceId && (scope === "resource" || thread.id === current);
  const mayShow = (message: StoredMessage): boolean =>
    message.resourceId === resourceId && (scope === "resource" || message.threadId === current);

  return {
    currentThreadId: current,
    async thread(threadId) {
      const thread = await store.getThreadById({ threadId }).catch(() => null);
      return thread && mayRead(thread) ? thread : undefined;
    },
    async threads({ before, after, offset, limit }) {
      const found: StoredThread[] = [];
      for (let page = 0; found.length < offset + limit; page++) {
        const { threads, hasMore } = await store.listThreads({
          filter: { resourceId },
          orderBy: { field: "updatedAt" },
          page,
          perPage: THREADS_READ,
        });
        const isWanted = ({ updatedAt }: StoredThread): boolean =>
          (!before || updatedAt < before) && (!after || updatedAt >= after);
        found.push(...threads.filter((thread) => mayRead(thread) && isWanted(thread)));
        if (!hasMore || (after && threads.at(-1)!.updatedAt < after)) break;
      }
      return found.slice(offset, offset + limit);
    },
    async message(id) {
      const { messages } = await store.listMessagesById({ messageIds: [id] }).catch(() => ({ messages: [] }));
      return messages.find(mayShow);
    },
    async around(message, { before, after }) {
      const include = [{ id: message.id, withPreviousMessages: before, withNextMessages: after }];
      const { messages } = await store.listMessages({ threadId: [], perPage: 0, include, resourceId });
      return messages.filter(mayShow);
    },
    async list(threadId, { from, offset, limit }) {
      // A page starts at a multiple of its size.
      const perPage = offset + limit;
      const direction = from === "start" ? "ASC" : "DESC";
      const { messages } = await store.listMessages({ threadId, perPage, page: 0, orderBy: { direction } });
      const shown = messages.slice(offset).filter(mayShow);
      return from === "start" ? shown : shown.toReversed();
    },
    async searchNotes(query, { threadId, limit }) {
      const similar: FoundNote[] = [];
      for (const note of (await findNotes?.(query, scope === "thread" ? current : threadId, limit)) ?? [])
        if (await this.thread(note.threadId)) similar.push(note);
      // Words are searched in the notes of the current log.
      if (threadId !== undefined) return similar;
      const words = wordsOf(query);
      const hits = (text: string): number => {
        const lower = text.toLowerCase();
        return words.reduce((sum, word) => sum + (lower.includes(word) ? word.length : 0), 0);
      };
      const lines = ((await readNotes?.()) ?? []).flatMap(({ text, ...range }) =>
        logLines(text).map((line) => ({
          ...range,
          text: line.date === undefined ? line.text : `${line.date} ${line.text}`,
          score: hits(line.text),
        })),
      );
      // One word of many is a coincidence.
      const least = hits(words.join(" ")) / 2;
      const byWords = lines
        .filter(({ score }) => score > 0 && score >= least)
        .toSorted((a, b) => b.score - a.score)
        .map(({ score: _, ...note }) => note);
      return [...similar, ...byWords].slice(0, limit);
    },
    async search(query, { threadId, limit }) {
      const where = scope === "thread" ? current : threadId;
      const found = await searchWords(store, { query, resourceId, threadId: where, limit });
      return found.filter((message) => mayShow(message) && isSpoken(message)).slice(0, limit);
    },
  };
}

/** Messages with the words of a query: those with the most of them first, then the newest. */
async function searchWords(
  store: ThreadDomain,
  search: { query: string; resourceId: string; threadId: string | undefined; limit: number },
): Promise<StoredMessage[]> {
  const { query, resourceId, threadId, limit } = search;
  const words = wordsOf(query);
  const found = new Map<string, { message: StoredMessage; hits: number }>();
  for (const text of words.length === 0 ? [query.trim()].filter(Boolean) : words) {
    for (const message of await store.searchMessages({ text, resourceId, threadId, limit: limit * 2 })) {
      const entry = found.get(message.id) ?? { message, hits: 0 };
      // A long word counts more than a short one.
      entry.hits += text.length;
      found.set(message.id, entry);
    }
  }
  const newest = (message: StoredMessage): number => message.createdAt.getTime();
  return [...found.values()]
    .toSorted((a, b) => b.hits - a.hits || newest(b.message) - newest(a.message))
    .map(({ message }) => message);
}

/** The longest words of a query, in lower case. */
function wordsOf(query: string): string[] {
  return [...new Set(query.toLowerCase().match(/[\p{L}\p{N}][\p{L}\p{N}'_-]+/gu) ?? [])]
    .toSorted((a, b) => b.length - a.length)
    .slice(0, MOST_WORDS);
}

/** Said by a person or the assistant, not by the system. */
export function isSpoken(message: StoredMessage): boolean {
  return message.role === "assistant" || isFromPerson(message);
}
