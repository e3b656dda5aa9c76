import type { MemoryParts, MemoryRun } from "@selvedge/core/memory";
import type { Processor } from "@selvedge/core/processors";
import type { ThreadDomain } from "@selvedge/core/storage";
import type { JsonSchema } from "@selvedge/core/tools";
import type { MemorySettings } from "./memory-settings.ts";
import { MessageHistory } from "./message-history.ts";
import type { MessageIndex } from "./message-index.ts";
import type { RetrievalConfig } from "./observational/om-config.ts";
import type { NoteIndex } from "./observational/note-index.ts";
import type { OmEngine } from "./observational/om-engine.ts";
import { type RecallPort, recallPort } from "./observational/recall-port.ts";
import { RECALL_TOOL, recallTool } from "./observational/recall-tool.ts";
import { RecallIndexer } from "./recall-indexer.ts";
import { SemanticRecall } from "./semantic-recall.ts";
import { ThreadTitle } from "./thread-title.ts";
import type { Warn } from "./warning.ts";
import type { WorkingMemoryStore } from "./working-memory-store.ts";
import { WorkingMemoryStateProcessor } from "./working-memory-state.ts";
import { WORKING_MEMORY_TOOL, workingMemoryTool } from "./working-memory-tool.ts";
import { WorkingMemory } from "./working-memory.ts";

/** What the runs of one memory share. */
export interface MemoryKit {
  /** Observational memory, instead of the history. */
  om: Processor | undefined;
  /** Whether the model may read the messages behind the notes. */
  retrieval: RetrievalConfig | undefined;
  /** The notes of a thread, for search. */
  readNotes: OmEngine["notes"] | undefined;
  /** The notes by meaning. */
  notes: NoteIndex | undefined;
  store: ThreadDomain;
  index: MessageIndex | undefined;
  workingMemory: WorkingMemoryStore;
  /** The input of the working-memory tool, if that is enabled. */
  toolInput: JsonSchema | undefined;
  processors: readonly Processor[];
  beingNamed: Set<string>;
  warn: Warn;
}

/**
 * The parts of a run with these settings: history, recall and working memory before it, indexing and title after it.
 */
export function prepareRun(run: MemoryRun, settings: MemorySettings, kit: MemoryKit): MemoryParts {
  const { lastMessages, recall, workingMemory, title, readOnly } = settings;
  const { store, index, warn, toolInput } = kit;
  const parts: MemoryParts = { inputProcessors: [], outputProcessors: [], tools: {} };
  const { inputProcessors: before, outputProcessors: after } = parts;
  if (lastMessages > 0 && !kit.om)
    before.push(new MessageHistory({ storage: store, lastMessages }, run.journal));
  const found =
    recall &&
    index &&
    new SemanticRecall({ storage: store, index, settings: recall, system: run.system, warn });
  if (found && !kit.om) before.push(found);
  if (index && recall && !readOnly)
    after.push(new RecallIndexer({ storage: store, index, system: run.system, warn }));
  if (workingMemory) {
    // A state is stored with the thread, which a read-only run cannot do.
    const useStateSignals = workingMemory.useStateSignals && !readOnly;
    const own = { ...workingMemory, useStateSignals };
    const isKept = readOnly || !workingMemory.agentManaged;
    const options = { store: kit.workingMemory, settings: own, readOnly: isKept };
    before.push(new WorkingMemory(options));
    if (useStateSignals) before.push(new WorkingMemoryStateProcessor(options));
  }
  // What changes most often comes last.
  if (kit.om) before.push(kit.om, ...(found ? [found] : []));
  if (kit.retrieval) parts.tools[RECALL_TOOL] = recallTool(portTo(run, kit.retrieval, kit));
  if (workingMemory?.agentManaged && toolInput && !readOnly) {
    parts.tools[WORKING_MEMORY_TOOL] = workingMemoryTool({
      store: kit.workingMemory,
      settings: workingMemory,
      place: { scope: workingMemory.scope, threadId: run.threadId, resourceId: run.resourceId },
      inputSchema: toolInput,
    });
  }
  if (title && !readOnly) {
    const { model, system } = run;
    after.push(new ThreadTitle({ store, config: title, model, system, warn, underWay: kit.beingNamed }));
  }
  before.push(...kit.processors);
  after.push(...kit.processors);
  return parts;
}

function portTo(run: MemoryRun, { scope }: RetrievalConfig, kit: MemoryKit): RecallPort {
  const { store, notes, readNotes } = kit;
  const { threadId, resourceId } = run;
  return recallPort({
    store,
    threadId,
    resourceId,
    scope,
    ...(readNotes && {
      readNotes: async () =>
        (await readNotes(threadId, resourceId)).filter(
          (note) => scope === "resource" || note.threadId === threadId,
        ),
    }),
    ...(notes && {
      findNotes: (text, wanted, limit) => notes.search(text, { resourceId, threadId: wanted, limit }),
    }),
  });
}
