import type { Processor } from "@selvedge/core/processors";
import { readNotes } from "./demo-tools.ts";

const SHOWN = 20;

/** Keeps the thread's state lane `notes` in sync with the file of notes. */
export function notesLane(file: string): Processor {
  return {
    id: "notes",
    async computeStateSignal({ lastSnapshot, contextWindow }) {
      const notes = (await readNotes(file)).slice(-SHOWN);
      if (notes.length === 0 && !lastSnapshot) return undefined;
      const cacheKey = JSON.stringify(notes);
      if (contextWindow.hasSnapshot && lastSnapshot?.cacheKey === cacheKey) return undefined;
      const contents = notes.length === 0 ? "The notes are empty." : `The notes are:\n${notes.join("\n")}`;
      return { mode: "snapshot", cacheKey, contents, value: { notes } };
    },
  };
}
