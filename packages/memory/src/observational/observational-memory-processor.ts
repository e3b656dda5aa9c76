import { AgentError } from "@selvedge/core/errors";
import type { MemoryRun, RunProcessor } from "@selvedge/core/memory";
import type { Processor } from "@selvedge/core/processors";
import type { ExtractorMemory } from "./extractor.ts";
import type { ObservationalMemory } from "./observational-memory.ts";

/**
 * Observational memory as a processor, for an agent whose memory has it off. It belongs in `inputProcessors`; in
 * `outputProcessors` it does nothing. The engine and the agent's memory must share a store.
 */
export class ObservationalMemoryProcessor implements RunProcessor {
  readonly id = "observational-memory";
  readonly #om: ObservationalMemory;

  /** With `memory`, extractors can write its working memory. */
  constructor(om: ObservationalMemory, memory?: ExtractorMemory) {
    this.#om = om;
    if (memory) om.engine.useMemory(memory);
  }

  async forRun(run: MemoryRun): Promise<Processor> {
    const { engine, storage } = this.#om;
    if (run.agent && run.agent.threads.storage !== storage)
      throw new AgentError(
        "invalid-argument",
        `ObservationalMemoryProcessor uses store "${storage.id}", but the memory of agent "${run.agent.id}" uses another ("${run.agent.threads.storage.id}"). Pass the same store to both.`,
      );
    const { lastMessages, readOnly } = run.config ?? {};
    return engine.prepareRun(run, { lastMessages: lastMessages || 0, readOnly: readOnly ?? false });
  }

  /** Only called without a thread. */
  processInput(): never {
    throw new AgentError(
      "invalid-argument",
      "ObservationalMemoryProcessor needs a thread, and this call has none. Pass memory: { thread, resource }.",
    );
  }
}
