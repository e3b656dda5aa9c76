import type { MemoryAgent, MemoryThreads } from "@selvedge/core/memory";
import type { OmUsage } from "./om-options.ts";
import type { OmServer } from "./om-server.ts";

export interface JobContext {
  agent: MemoryAgent;
  server: OmServer;
  threads: MemoryThreads;
  abortSignal: AbortSignal;
}

/** What a role answered with, for hooks and the record. */
export interface JobReport {
  usage: OmUsage;
  providerMetadata: Record<string, unknown> | undefined;
}

/** An answer that cannot be used. Asking again may help once, and not more often. */
export class UnusableAnswer extends Error {}
