import type { Block } from "./extract-blocks.ts";
import type { Wrap } from "./wrap-block.ts";

/** Work of a later issue that a block waits for. */
export type Topic = "notifications" | "mcp" | "rag";

/** What one block needs before it can be judged. A block without an entry is checked as it stands. */
export interface BlockSetUp<Given extends object = any> {
  /** The block this entry was written for; another hash makes the entry stale. */
  hash: string;
  /** Slips of the document, as [text as it stands, text as meant]. Must not move lines. */
  repair?: readonly (readonly [found: string, meant: string])[];
  /** Where detection guesses wrong, or more must stand around the block. */
  wrap?: Wrap;
  /** Code behind the block, on one line, for the compiler to judge with it. */
  after?: string;
  /** Expected to fail the type check until this work is done. */
  pending?: Topic;
  /** Real values for the block's free names, and whatever `run` wants to look at afterwards. */
  given?: () => Given;
  /** Executes the block, then asks what happened; `true` asks nothing. `exports` are the block's own. */
  run?: true | ((exports: any, given: Given, block: Block) => unknown);
}

/** An entry that runs: ties what `given` makes, once, to what `run` gets and to the types the block sees. */
export function running<Given extends object>(
  entry: BlockSetUp<Given> & { given: () => Given },
): BlockSetUp<Given> & { given: () => Given } {
  let made: Given | undefined;
  return { ...entry, given: () => (made ??= entry.given()) };
}
