import type { Warn } from "../warning.ts";
import type { ExtractorMemory } from "./extractor.ts";
import type { NoteIndex } from "./note-index.ts";
import type { OmConfig } from "./om-config.ts";
import type { RoleModels } from "./role-models.ts";

/** What is needed to execute the jobs of an agent: its memory's configuration, models and hooks. */
export interface OmServer {
  readonly config: OmConfig;
  readonly warn: Warn;
  readonly memory: ExtractorMemory;
  readonly models: RoleModels;
  readonly index?: NoteIndex | undefined;
}
