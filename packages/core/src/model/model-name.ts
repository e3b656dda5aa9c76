import type { LanguageModel } from "./model.ts";

/** A model's name in errors and logs: `openai/gpt-5`. */
export function modelName(model: Pick<LanguageModel, "provider" | "modelId">): string {
  const [family] = model.provider.split(".", 1);
  return `${family || model.provider}/${model.modelId}`;
}
