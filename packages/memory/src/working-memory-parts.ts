import { realSystem, type System, type WorkingMemoryConfig } from "@selvedge/core/memory";
import { toMemorySettings, type WorkingMemorySettings } from "./memory-settings.ts";
import { type ThreadSource, threadDomainOf } from "./thread-domain-of.ts";
import { WorkingMemoryStore } from "./working-memory-store.ts";

export interface WorkingMemoryOptions extends Omit<WorkingMemoryConfig, "enabled"> {
  storage: ThreadSource;
  /** Show the working memory, but do not let the model change it. */
  readOnly?: boolean;
  system?: System;
}

/** What a memory prepares for its runs. */
export interface WorkingMemoryParts {
  store: WorkingMemoryStore;
  settings: WorkingMemorySettings;
  readOnly?: boolean;
}

/** The parts for these options. Throws on an invalid option. */
export function toWorkingMemoryParts(options: WorkingMemoryOptions, owner: string): WorkingMemoryParts {
  const { storage, readOnly = false, system = realSystem, ...config } = options;
  const has = { vector: false, embedder: false };
  const workingMemory = { ...config, enabled: true };
  const settings = toMemorySettings({ workingMemory }, undefined, has).workingMemory!;
  const store = new WorkingMemoryStore({ store: threadDomainOf(storage, owner), system });
  return { store, settings, readOnly: readOnly || !settings.agentManaged };
}
