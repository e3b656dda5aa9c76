import type { MemoryAgent } from "@selvedge/core/memory";
import type { ModelConfig } from "@selvedge/core/model";
import type { Warn } from "../warning.ts";
import type { ExtractorMemory } from "./extractor.ts";
import type { OmConfig } from "./om-config.ts";

export type OmRole = "observation" | "reflection";

/** What can carry out the jobs of an agent: its memory's configuration, models and hooks. */
export interface OmServer {
  readonly config: OmConfig;
  readonly warn: Warn;
  readonly memory: ExtractorMemory;
  /** The model of a role for an input of about this size. */
  model(role: OmRole, inputTokens: number, agent: MemoryAgent): Promise<ModelConfig>;
  /** The largest input that the role's models accept; infinite if unknown. */
  largestInput(role: OmRole): number;
}
