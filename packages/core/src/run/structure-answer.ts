import { errorMessage } from "../errors.ts";
import { askModel } from "../model/ask-model.ts";
import type { Run } from "./run.ts";
import type { ObjectFormat } from "../model/structured-output.ts";

/** Turns the finished answer into `run.object`, with the caller's strategy for invalid answers. */
export async function structureAnswer(run: Run, format: ObjectFormat): Promise<void> {
  const { options } = format;
  // Calls are left to others, or the steps ran out: there is no answer yet.
  if (run.finishReason === "tool-calls") return;
  const answer = run.steps.at(-1)?.text ?? "";
  try {
    const json = options.model
      ? await askModel(options.model, {
          system: format.prompt,
          prompt: answer,
          ...(options.providerOptions && { providerOptions: options.providerOptions }),
          abortSignal: run.controller.signal,
          limits: run.spec.limits,
          clock: run.spec.system,
        })
      : answer;
    run.object = await format.parse(json);
  } catch (error) {
    if ((options.errorStrategy ?? "strict") === "strict") throw error;
    run.warnings.push({ type: "other", message: errorMessage(error) });
    if (options.errorStrategy === "warn") return;
    run.object = options.fallbackValue;
  }
  await run.stream.emit({ type: "object-result", runId: run.spec.runId, from: "AGENT", object: run.object });
}
