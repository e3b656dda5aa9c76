import { AgentError } from "@selvedge/core/errors";
import { sleep, type System } from "@selvedge/core/memory";
import type { ThreadDomain } from "@selvedge/core/storage";

/** Where a working memory is stored: with the resource, or in the metadata of one thread. */
export interface WorkingMemoryPlace {
  scope: "thread" | "resource";
  threadId: string;
  resourceId: string;
}

/** Working memory is part of every prompt, so it must stay small. */
export const LONGEST_WORKING_MEMORY = 32_000;

const METADATA_KEY = "workingMemory";
const MOST_ATTEMPTS = 10;

/**
 * Reads and changes working memories. Changes to one place are serial in this process; between processes the version of
 * the resource decides, and the loser retries. No change is lost.
 */
export class WorkingMemoryStore {
  readonly #store: () => Promise<ThreadDomain>;
  readonly #system: System;
  readonly #last = new Map<string, Promise<void>>();

  constructor(options: { store: () => Promise<ThreadDomain>; system: System }) {
    this.#store = options.store;
    this.#system = options.system;
  }

  async read(place: WorkingMemoryPlace): Promise<string | null> {
    return (await this.#load(place)).text;
  }

  /** Where a thread's working memory is; nowhere if the thread belongs to another owner or its owner is unknown. */
  async locate(
    scope: WorkingMemoryPlace["scope"],
    { threadId, resourceId }: { threadId: string; resourceId?: string | undefined },
  ): Promise<WorkingMemoryPlace | undefined> {
    const thread = await (await this.#store()).getThreadById({ threadId });
    if (thread && resourceId !== undefined && thread.resourceId !== resourceId) return undefined;
    const owner = thread?.resourceId ?? resourceId;
    if (owner === undefined || (scope === "thread" && !thread)) return undefined;
    return { scope, threadId, resourceId: owner };
  }

  /** Gives the new owner of a cloned thread the old one's notes, unless it has its own. */
  async copyToResource(resourceId: string, clone: { id: string; resourceId: string }): Promise<void> {
    if (clone.resourceId === resourceId) return;
    const place: WorkingMemoryPlace = { scope: "resource", threadId: clone.id, resourceId: clone.resourceId };
    const text = await this.read({ ...place, resourceId });
    if (text !== null) await this.update(place, (current) => current ?? text);
  }

  /** Replaces the text with the result of `change`, which may be called again after a conflict. */
  update(place: WorkingMemoryPlace, change: (current: string | null) => string): Promise<string> {
    const key = place.scope === "thread" ? `thread ${place.threadId}` : `resource ${place.resourceId}`;
    const before = this.#last.get(key) ?? Promise.resolve();
    const work = before.then(() => this.#change(place, change));
    const settled: Promise<void> = work.then(
      () => this.#forget(key, settled),
      () => this.#forget(key, settled),
    );
    this.#last.set(key, settled);
    return work;
  }

  #forget(key: string, settled: Promise<void>): void {
    if (this.#last.get(key) === settled) this.#last.delete(key);
  }

  async #change(place: WorkingMemoryPlace, change: (current: string | null) => string): Promise<string> {
    for (let attempt = 1; ; attempt++) {
      const { text: current, version } = await this.#load(place);
      const text = checkLength(change(current));
      try {
        await this.#save(place, text, version);
        return text;
      } catch (error) {
        if (!AgentError.is(error, "conflict") || attempt === MOST_ATTEMPTS) throw error;
        await sleep(this.#system, this.#system.random() * 5 * attempt);
      }
    }
  }

  async #load({
    scope,
    threadId,
    resourceId,
  }: WorkingMemoryPlace): Promise<{ text: string | null; version: number }> {
    const store = await this.#store();
    if (scope === "resource") {
      const resource = await store.getResourceById({ resourceId });
      return { text: resource?.workingMemory ?? null, version: resource?.version ?? 0 };
    }
    const thread = await store.getThreadById({ threadId });
    const text = thread?.resourceId === resourceId ? thread.metadata?.[METADATA_KEY] : undefined;
    return { text: typeof text === "string" ? text : null, version: 0 };
  }

  async #save(
    { scope, threadId, resourceId }: WorkingMemoryPlace,
    text: string,
    version: number,
  ): Promise<void> {
    const store = await this.#store();
    if (scope === "resource") {
      await store.updateResource({ resourceId, workingMemory: text, expectedVersion: version });
    } else {
      await store.updateThread({ id: threadId, metadata: { [METADATA_KEY]: text } });
    }
  }
}

function checkLength(text: string): string {
  if (text.length <= LONGEST_WORKING_MEMORY) return text;
  throw new AgentError(
    "limit-exceeded",
    `The working memory would have ${text.length} characters; the limit is ${LONGEST_WORKING_MEMORY}. ` +
      "Keep what matters, shorten or drop the rest, and try again.",
  );
}
