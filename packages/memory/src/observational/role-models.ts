import type { MemoryAgent, OmSettings } from "@selvedge/core/memory";
import { type ModelConfig, resolveModel } from "@selvedge/core/model";
import { RequestContext } from "@selvedge/core/request-context";
import type { Warn } from "../warning.ts";
import { ModelByInputTokens } from "./model-by-input-tokens.ts";
import { DEFAULT_OM_MODEL, type OmConfig } from "./om-config.ts";
import type { OmModel } from "./om-options.ts";

export type OmRole = "observation" | "reflection";

/** The job that a model is for. */
export interface ModelRequest {
  agent: MemoryAgent;
  settings: OmSettings | undefined;
  threadId: string;
}

export interface RoleModel {
  /** The largest input that it accepts; infinite if unknown. */
  readonly largestInput: number;
  /** The model for an input of about this size. */
  forInput(tokens: number): Promise<ModelConfig>;
}

/** Chooses the models: the session's, the memory's, the controller's, the default, the agent's own. */
export class RoleModels {
  readonly #config: OmConfig;
  readonly #warn: Warn;
  #hasWarned = false;

  constructor(config: OmConfig, warn: Warn) {
    this.#config = config;
    this.#warn = warn;
  }

  of(role: OmRole, request: ModelRequest): RoleModel {
    const { settings } = request;
    const own = settings?.[role];
    const resolve = (model: ModelConfig): ModelConfig =>
      typeof model === "string" && settings ? settings.resolveModel(model) : model;
    const model = own?.chosen.model() ?? this.#config[role].model ?? own?.usual.model();
    if (model === undefined)
      return { largestInput: Infinity, forInput: () => this.#defaultModel(resolve, request) };
    if (model instanceof ModelByInputTokens) {
      const largestInput = model.getThresholds().at(-1)!;
      return { largestInput, forInput: async (n) => resolve(model.resolve(Math.min(n, largestInput))) };
    }
    return { largestInput: Infinity, forInput: async () => resolve(await call(model)) };
  }

  /** The default model, or the agent's own if that has no key. */
  async #defaultModel(
    resolve: (model: ModelConfig) => ModelConfig,
    { agent, threadId }: ModelRequest,
  ): Promise<ModelConfig> {
    try {
      const model = resolve(DEFAULT_OM_MODEL);
      await resolveModel(model);
      return model;
    } catch (error) {
      if (!this.#hasWarned) {
        this.#hasWarned = true;
        this.#warn(
          `Observational memory uses the model of agent "${agent.id}", because ${DEFAULT_OM_MODEL} cannot be used. Set observationalMemory.model to choose one.`,
          error,
        );
      }
      return agent.model(threadId);
    }
  }
}

async function call(model: Exclude<OmModel, ModelByInputTokens>): Promise<ModelConfig> {
  if (typeof model !== "function") return model as ModelConfig;
  const requestContext = new RequestContext();
  const context = Object.assign(new RequestContext(), { requestContext, runtimeContext: requestContext });
  return (model as (context: unknown) => ModelConfig | Promise<ModelConfig>)(context);
}
