import { errorMessage } from "@selvedge/core/errors";
import type { ModelConfig } from "@selvedge/core/model";
import type { OmChunkHints, OmJobRow } from "@selvedge/core/storage";
import { askRole } from "./ask-role.ts";
import type { JobContext } from "./job-context.ts";
import { extractWithSchema } from "./extract-with-schema.ts";
import type { Extractor } from "./extractor.ts";
import type { OmRoleConfig } from "./om-config.ts";
import type { Notes } from "./parse-observations.ts";

const LONGEST_ERROR = 1_000;

interface ExtractValuesInput {
  job: OmJobRow;
  notes: Notes;
  previous: Readonly<Record<string, unknown>>;
  role: OmRoleConfig;
  model: ModelConfig;
  context: JobContext;
  /** The conversation as the observer read it. */
  quoted: string;
}

export interface ExtractedValues {
  /** What the chunk keeps of it. */
  hints: OmChunkHints;
  /** Calls the extractors. Returns the hints if they changed anything. Use it after the commit that stores the values. */
  deliver(): Promise<OmChunkHints | undefined>;
}

/** The values of a role's extractors: tags of its answer, and one more call for each extractor with a schema. */
export async function extractValues(input: ExtractValuesInput): Promise<ExtractedValues> {
  const { role, notes, job, previous, context } = input;
  const values: Record<string, unknown> = {};
  const failures: { slug: string; error: string }[] = [];
  for (const extractor of role.extract) {
    const { slug } = extractor;
    try {
      const value = extractor.schema === undefined ? notes.extracted[slug] : await askFor(extractor, input);
      if (value !== undefined) values[slug] = value;
    } catch (error) {
      if (context.abortSignal.aborted) throw error;
      failures.push({ slug, error: errorMessage(error).slice(0, LONGEST_ERROR) });
    }
  }
  const { server } = context;
  const places = role.extract.flatMap(({ slug, metadataKeyPath }) =>
    metadataKeyPath === `extracted.${slug}` ? [] : [[slug, metadataKeyPath] as const],
  );
  const hints = (): OmChunkHints => ({
    ...(Object.keys(values).length > 0 && { extracted: { ...values } }),
    ...(places.length > 0 && { places: Object.fromEntries(places) }),
    ...(failures.length > 0 && { extractionFailures: [...failures] }),
  });
  return {
    hints: hints(),
    async deliver() {
      let isChanged = false;
      for (const { slug, onExtracted } of role.extract) {
        if (!onExtracted || !(slug in values)) continue;
        try {
          const returned = await onExtracted({
            current: values[slug],
            previous: previous[slug],
            threadId: job.source,
            resourceId: job.source_resource,
            memory: server.memory,
            cycleId: job.cycle_id!,
          });
          if (returned === undefined) continue;
          values[slug] = returned;
        } catch (error) {
          server.warn(`onExtracted of "${slug}" threw (thread "${job.source}").`, error);
          failures.push({ slug, error: errorMessage(error).slice(0, LONGEST_ERROR) });
        }
        isChanged = true;
      }
      return isChanged ? hints() : undefined;
    },
  };
}

function askFor(extractor: Extractor, input: ExtractValuesInput): Promise<unknown> {
  const { previous, job, role, model, quoted } = input;
  const { threads, abortSignal } = input.context;
  return extractWithSchema(extractor, {
    previous,
    quoted,
    context: { threadId: job.source, resourceId: job.source_resource },
    ask: (request, schema) => askRole(model, request, role, { system: threads.system, abortSignal, schema }),
  });
}
