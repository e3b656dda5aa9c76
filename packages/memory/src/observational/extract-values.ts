import { errorMessage } from "@selvedge/core/errors";
import type { ModelConfig } from "@selvedge/core/model";
import type { OmJobRow } from "@selvedge/core/storage";
import { askRole } from "./ask-role.ts";
import type { JobContext } from "./job-context.ts";
import { extractWithSchema } from "./extract-with-schema.ts";
import type { Extractor } from "./extractor.ts";
import type { OmRoleConfig } from "./om-config.ts";
import type { Notes } from "./parse-observations.ts";

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
  extracted: Record<string, unknown> | undefined;
  failures: { slug: string; error: string }[] | undefined;
  /** Calls the extractors. Use it after the commit that stores the values. */
  deliver(): Promise<void>;
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
      failures.push({ slug, error: errorMessage(error).slice(0, 1_000) });
    }
  }
  const { server } = context;
  return {
    extracted: Object.keys(values).length > 0 ? values : undefined,
    failures: failures.length > 0 ? failures : undefined,
    async deliver() {
      for (const { slug, onExtracted } of role.extract) {
        if (!onExtracted || !(slug in values)) continue;
        try {
          await onExtracted({
            current: values[slug],
            previous: previous[slug],
            threadId: job.source,
            resourceId: job.source_resource,
            memory: server.memory,
            cycleId: job.cycle_id!,
          });
        } catch (error) {
          server.warn(`onExtracted of "${slug}" threw (thread "${job.source}").`, error);
        }
      }
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
