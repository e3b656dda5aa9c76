import { createHash } from "node:crypto";
import type { ComputedState, ComputeStateSignalArgs, Processor } from "@selvedge/core/processors";
import {
  toWorkingMemoryParts,
  type WorkingMemoryOptions,
  type WorkingMemoryParts,
} from "./working-memory-parts.ts";
import { shownMemory, STATE_TAG } from "./working-memory.ts";

/**
 * Sends the working memory as a state of the thread when it has changed. Nothing before the change differs, so the
 * provider's prompt cache stays valid.
 */
export class WorkingMemoryStateProcessor implements Processor {
  readonly id = "working-memory-state";
  readonly stateId = "working-memory";
  readonly #parts: WorkingMemoryParts;

  constructor(options: WorkingMemoryOptions | WorkingMemoryParts) {
    this.#parts = "store" in options ? options : toWorkingMemoryParts(options, "WorkingMemoryStateProcessor");
  }

  async computeStateSignal({
    threadId,
    resourceId,
    contextWindow,
    lastSnapshot,
    deltasSinceSnapshot,
  }: ComputeStateSignalArgs): Promise<ComputedState | undefined> {
    if (threadId === undefined || resourceId === undefined) return undefined;
    const { store, settings } = this.#parts;
    const { scope, schema } = settings;
    const text = shownMemory(settings, await store.read({ scope, threadId, resourceId }));
    const told: unknown = (deltasSinceSnapshot.at(-1) ?? lastSnapshot)?.value;
    const cacheKey = createHash("sha256").update(text).digest("hex");
    const state = { cacheKey, value: text, tagName: STATE_TAG };
    if (contextWindow.hasSnapshot && typeof told === "string") {
      if (told === text) return undefined;
      const delta = changedLines(told, text);
      if (schema === undefined && delta.length < text.length)
        return { ...state, mode: "delta", contents: delta, delta, attributes: { mode: "delta" } };
    }
    return { ...state, mode: "snapshot", contents: text };
  }
}

/** The removed lines with `-`, and the new ones with `+`. */
function changedLines(before: string, after: string): string {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [had, has] = [new Set(old), new Set(now)];
  const gone = old.filter((line) => !has.has(line)).map((line) => `- ${line}`);
  const added = now.filter((line) => !had.has(line)).map((line) => `+ ${line}`);
  // This does not detect lines that only moved or were repeated: the whole text is then sent.
  return gone.length + added.length > 0 ? [...gone, ...added].join("\n") : after;
}
