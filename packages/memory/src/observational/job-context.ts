import type { MemoryAgent, MemoryThreads } from "@selvedge/core/memory";
import type { OmUsage } from "./om-options.ts";
import type { OmServer } from "./om-server.ts";

export interface JobContext {
  agent: MemoryAgent;
  server: OmServer;
  threads: MemoryThreads;
  abortSignal: AbortSignal;
}

/** The details of a role's answer, for hooks and the record. */
export interface JobReport {
  usage: OmUsage;
  providerMetadata: Record<string, unknown> | undefined;
}

/** An unusable answer. It is worth one retry, not more. */
export class UnusableAnswer extends Error {}
