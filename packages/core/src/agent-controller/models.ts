import type { ModelConfig } from "../model/model.ts";
import { MODEL_CATALOGUE } from "../model/model-catalogue.ts";
import type { Environment } from "../model/open-provider.ts";
import { findProvider } from "../model/provider-registry.ts";
import type { Logger } from "../logger.ts";
import type { AgentControllerConfig } from "./config.ts";

/** A model that a person can choose. */
export interface AvailableModel {
  id: string;
  provider: string;
  modelName: string;
  hasApiKey: boolean;
  apiKeyEnvVar?: string;
  useCount: number;
}

export interface ModelAuthStatus {
  hasAuth: boolean;
  apiKeyEnvVar?: string;
}

/** Another source of models and keys. */
export interface ModelGateway {
  id: string;
  listModels?(): Omit<AvailableModel, "useCount">[] | Promise<Omit<AvailableModel, "useCount">[]>;
  /** A model for an id, or nothing where the id is not its own. */
  resolveModel?(modelId: string): ModelConfig | undefined;
  hasAuth?(provider: string): boolean | undefined;
}

type Source = Pick<
  AgentControllerConfig,
  "modelAuthChecker" | "modelUseCountProvider" | "customModelCatalogProvider" | "gateways"
>;

/** Whether there is a key for the provider of a model. */
export function authStatus(modelId: string, source: Source, env: Environment): ModelAuthStatus {
  if (modelId === "") return { hasAuth: true };
  const [provider = ""] = modelId.split("/");
  const keys = findProvider(provider)?.keys;
  const variable = keys?.find((name) => env[name]?.trim()) ?? keys?.[0];
  const said =
    source.modelAuthChecker?.(provider) ??
    source.gateways?.map((gateway) => gateway.hasAuth?.(provider)).find((answer) => answer !== undefined);
  const found = keys !== undefined && (keys.length === 0 || keys.some((name) => Boolean(env[name]?.trim())));
  return { hasAuth: said ?? found, ...(variable !== undefined && { apiKeyEnvVar: variable }) };
}

/** Every model that is known, without asking anybody over the network: the catalogue, the app's own, the gateways'. */
export async function listModels(
  source: Source,
  env: Environment,
  logger: Logger,
): Promise<AvailableModel[]> {
  const counts = ask(() => source.modelUseCountProvider?.(), logger) ?? {};
  const models = new Map<string, AvailableModel>();
  const add = (model: Omit<AvailableModel, "useCount">): void => {
    const useCount = Object.hasOwn(counts, model.id) ? counts[model.id]! : 0;
    models.set(model.id, { ...model, useCount });
  };
  for (const [provider, names] of Object.entries(MODEL_CATALOGUE)) {
    const { hasAuth, apiKeyEnvVar } = authStatus(`${provider}/`, source, env);
    for (const modelName of names)
      add({
        id: `${provider}/${modelName}`,
        provider,
        modelName,
        hasApiKey: hasAuth,
        ...(apiKeyEnvVar !== undefined && { apiKeyEnvVar }),
      });
  }
  const lists = [
    source.customModelCatalogProvider,
    ...(source.gateways ?? []).map((one) => one.listModels?.bind(one)),
  ];
  for (const list of lists) {
    try {
      for (const model of (await list?.()) ?? []) add(model);
    } catch (error) {
      logger.warn("A catalogue of models could not be read", error);
    }
  }
  return [...models.values()];
}

function ask<Answer>(question: () => Answer, logger: Logger): Answer | undefined {
  try {
    return question();
  } catch (error) {
    logger.warn("The use counts of models could not be read", error);
    return undefined;
  }
}
