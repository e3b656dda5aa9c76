import type { RequestContext } from "@selvedge/core/request-context";
import type { Schema } from "@selvedge/core/tools";
import { WORKING_MEMORY_EXTRACTION } from "./om-texts.ts";

export interface ExtractorContext {
  threadId?: string | undefined;
  resourceId?: string | undefined;
  requestContext?: RequestContext | undefined;
}

/** The part of `Memory` that extractors may use. */
export interface ExtractorMemory {
  updateWorkingMemory(options: {
    threadId: string;
    resourceId?: string | undefined;
    workingMemory: string;
  }): Promise<void>;
}

export interface ExtractedArgs<Value = unknown> extends ExtractorContext {
  current: Value;
  previous?: Value | undefined;
  memory: ExtractorMemory;
  /** The same for every attempt to deliver one value. */
  cycleId: string;
  sendSignal?: ((signal: unknown) => Promise<unknown>) | undefined;
}

export interface ExtractorOptions<Value = unknown> {
  name: string;
  /** What to look for. */
  instructions: string | ((context: ExtractorContext) => string | Promise<string>);
  /**
   * With a schema, the value comes from a separate structured call. Without one, it is text in the observer's output.
   */
  schema?: Schema;
  /** Show the previous value to the model. Default: true. */
  includePreviousExtraction?: boolean;
  /** Where the value is kept in the thread's metadata; `false` for nowhere. Default: `"extracted.<slug>"`. */
  metadataKeyPath?: string | false;
  /** Called after the value is stored, at least once. It may return another value. */
  onExtracted?(args: ExtractedArgs<Value>): unknown;
}

/** Something to find in a conversation besides observations. */
export class Extractor<Value = unknown> {
  readonly name: string;
  /** The name in lower case, digits and hyphens. */
  readonly slug: string;
  readonly instructions: ExtractorOptions["instructions"];
  readonly schema: Schema | undefined;
  readonly includePreviousExtraction: boolean;
  readonly metadataKeyPath: string | false;
  readonly onExtracted: ExtractorOptions<Value>["onExtracted"];

  constructor(options: ExtractorOptions<Value>) {
    this.name = options.name;
    this.slug = toSlug(options.name);
    this.instructions = options.instructions;
    this.schema = options.schema;
    this.includePreviousExtraction = options.includePreviousExtraction ?? true;
    this.metadataKeyPath = options.metadataKeyPath ?? `extracted.${this.slug}`;
    this.onExtracted = options.onExtracted;
  }
}

/** Lets the observer write the working memory. */
export class WorkingMemoryExtractor extends Extractor<string> {
  constructor(options: { instructions?: ExtractorOptions["instructions"] } = {}) {
    super({
      name: "working-memory",
      instructions: options.instructions ?? WORKING_MEMORY_EXTRACTION,
      metadataKeyPath: false,
      onExtracted: async ({ current, memory, threadId, resourceId }) => {
        if (threadId !== undefined)
          await memory.updateWorkingMemory({ threadId, resourceId, workingMemory: current });
      },
    });
  }
}

/** Reserved tags of the observer's output. */
export const RESERVED_SLUGS: ReadonlySet<string> = new Set([
  "observations",
  "current-task",
  "suggested-response",
  "thread-title",
  "thread",
  "summary",
  "system-reminder",
]);

function toSlug(name: unknown): string {
  return (typeof name === "string" ? name : "")
    .normalize("NFKD")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-+|-+$/g, "");
}
