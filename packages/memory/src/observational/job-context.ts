import type { MemoryAgent, MemoryThreads, OmSettings } from "@selvedge/core/memory";
import type { OmLimits } from "./om-limits.ts";
import type { OmUsage } from "./om-options.ts";
import type { OmServer } from "./om-server.ts";

export interface JobContext {
  agent: MemoryAgent;
  server: OmServer;
  threads: MemoryThreads;
  /** The settings of the thread's session, and the thresholds of its record. */
  settings: OmSettings | undefined;
  limits: OmLimits;
  abortSignal: AbortSignal;
}

/** The details of a role's answer, for hooks and the record. */
export interface JobReport {
  /** The model that answered, as `provider/model`. */
  model: string | undefined;
  usage: OmUsage;
  providerMetadata: Record<string, unknown> | undefined;
}

/** An unusable answer. It is worth one retry, not more. */
export class UnusableAnswer extends Error {}
