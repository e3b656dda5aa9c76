import { AgentError } from "../errors.ts";
import { adaptModel, isModelObject } from "./adapt-model.ts";
import { type Environment, openProvider } from "./open-provider.ts";
import type { ModelCandidate, ModelConfig, ModelEndpoint, ModelFallback, ModelSpec } from "./model.ts";

/**
 * Resolves a `model` setting to models, in the order they are tried. Keys are read from `env` now, so a key set after
 * import is found. A model object needs no import and no await.
 */
export async function resolveModel(
  config: ModelConfig,
  env: Environment = globalThis.process?.env ?? {},
): Promise<ModelCandidate[]> {
  if (!Array.isArray(config)) return [await resolveSpec(config, env)];
  const enabled = config.filter((entry) => entry?.enabled !== false);
  if (enabled.length === 0) {
    const found =
      config.length === 0 ? "an empty list" : `a list of ${config.length} with every entry disabled`;
    throw new AgentError(
      "invalid-argument",
      `\`model\` is ${found}. Pass at least one enabled { model } entry.`,
    );
  }
  return Promise.all(enabled.map((entry) => resolveFallback(entry, env)));
}

async function resolveFallback(entry: ModelFallback, env: Environment): Promise<ModelCandidate> {
  if (typeof entry !== "object" || entry === null || !("model" in entry)) {
    throw new AgentError(
      "invalid-argument",
      `An entry of the \`model\` list is ${describe(entry)}; each entry has the form { model: "openai/gpt-5", maxRetries?, … }.`,
    );
  }
  const { model, maxRetries, modelSettings, providerOptions, headers } = entry;
  return {
    ...(await resolveSpec(model as ModelSpec, env)),
    ...(maxRetries !== undefined && { maxRetries }),
    ...(modelSettings && { modelSettings }),
    ...(providerOptions && { providerOptions }),
    ...(headers && { headers }),
  };
}

function resolveSpec(spec: ModelSpec, env: Environment): ModelCandidate | Promise<ModelCandidate> {
  if (typeof spec === "string") return openProvider({ id: spec }, env);
  if (isModelObject(spec)) return { model: adaptModel(spec) };
  if (isEndpoint(spec)) return openProvider(spec, env);
  throw new AgentError(
    "invalid-argument",
    `\`model\` is ${describe(spec)}. Pass "provider/model", an AI SDK model object, { id, url?, apiKey?, headers? } or a list of { model } entries.`,
  );
}

function isEndpoint(spec: unknown): spec is ModelEndpoint {
  return typeof spec === "object" && spec !== null && typeof (spec as ModelEndpoint).id === "string";
}

// Shows the keys, not the values: a wrong setting may contain an API key.
function describe(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  return `an object with ${Object.keys(value).join(", ") || "no fields"}`;
}
