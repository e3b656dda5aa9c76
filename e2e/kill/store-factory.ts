import type { Storage } from "@selvedge/core/storage";

/** Where a store is, as plain data: every process of a session opens it from this. */
export interface StorePlace {
  /** A module that exports `openStore`. */
  module: string;
  url: string;
}

/** What the module of a place exports. */
interface StoreModule {
  openStore(url: string): Storage;
}

/** A store that several processes use at once. The rounds of kills, pauses and takeovers run on any of them. */
export interface StoreFactory {
  readonly name: string;
  /** Whether other processes can tell that one has ended. Otherwise its lease has to run out. */
  readonly knowsDeath: boolean;
  /** Creates an empty store. It may put its files into the folder, which is deleted at the end. */
  create(folder: string): StorePlace | Promise<StorePlace>;
}

export async function openStore({ module, url }: StorePlace): Promise<Storage> {
  return ((await import(module)) as StoreModule).openStore(url);
}

/**
 * The lease for a store. Where a death is known, the lease is longer than any round takes: a thread that continues proves
 * that no process waited for it, however slow the machine is.
 */
export function leaseFor({ knowsDeath }: StoreFactory): { leaseMs: number; renewMs: number } {
  return knowsDeath ? { leaseMs: 3_600_000, renewMs: 5_000 } : { leaseMs: 1_500, renewMs: 400 };
}

/** What has not happened by now hangs. No round needs this long, on any machine. */
export const HANGS_AFTER_MS = 120_000;
