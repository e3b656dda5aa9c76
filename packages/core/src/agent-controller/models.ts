import type { ModelConfig } from "../model/model.ts";
import { MODEL_CATALOGUE } from "../model/model-catalogue.ts";
import { findProvider } from "../model/provider-registry.ts";
import type { Logger } from "../logger.ts";
import type { System } from "../system.ts";
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
  /** A model for an id, or nothing if the id is unknown to it. */
  resolveModel?(modelId: string): ModelConfig | undefined;
  hasAuth?(provider: string): boolean | undefined;
}

interface ModelsHost {
  readonly config: AgentControllerConfig;
  readonly system: System;
  readonly logger: Logger;
}

const CACHE_MS = 10_000;

/** The models a controller knows without any network request: the catalogue, the app's own, the gateways'. */
export class Models {
  readonly #host: ModelsHost;
  #known: { at: number; list: AvailableModel[] } | undefined;

  constructor(host: ModelsHost) {
    this.#host = host;
  }

  /** Whether there is a key for the provider of a model. */
  authStatus(modelId: string): ModelAuthStatus {
    if (modelId === "") return { hasAuth: true };
    const { modelAuthChecker, gateways } = this.#host.config;
    const env: Record<string, string | undefined> = globalThis.process?.env ?? {};
    const [provider = ""] = modelId.split("/");
    const keys = findProvider(provider)?.keys;
    const found = keys?.find((name) => env[name]?.trim());
    const variable = found ?? keys?.[0];
    const said =
      modelAuthChecker?.(provider) ??
      gateways?.map((gateway) => gateway.hasAuth?.(provider)).find((answer) => answer !== undefined);
    const hasAuth = said ?? (found !== undefined || keys?.length === 0);
    return { hasAuth, ...(variable !== undefined && { apiKeyEnvVar: variable }) };
  }

  async list(): Promise<AvailableModel[]> {
    const now = this.#host.system.monotonic();
    if (!this.#known || now - this.#known.at >= CACHE_MS) this.#known = { at: now, list: await this.#read() };
    return [...this.#known.list];
  }

  forget(): void {
    this.#known = undefined;
  }

  async #read(): Promise<AvailableModel[]> {
    const { config, logger } = this.#host;
    const read = async <Value>(what: string, work: () => Value): Promise<Awaited<Value> | undefined> => {
      try {
        return await work();
      } catch (error) {
        logger.warn(`${what} could not be read`, error);
        return undefined;
      }
    };
    const counts = (await read("The use counts of models", () => config.modelUseCountProvider?.())) ?? {};
    const lists = [
      () => this.#catalogue(),
      config.customModelCatalogProvider,
      ...(config.gateways ?? []).map((one) => one.listModels?.bind(one)),
    ];
    const models = new Map<string, AvailableModel>();
    for (const list of lists)
      for (const model of (await read("A catalogue of models", () => list?.())) ?? [])
        models.set(model.id, { ...model, useCount: Object.hasOwn(counts, model.id) ? counts[model.id]! : 0 });
    return [...models.values()];
  }

  #catalogue(): Omit<AvailableModel, "useCount">[] {
    return Object.entries(MODEL_CATALOGUE).flatMap(([provider, names]) => {
      const { hasAuth: hasApiKey, ...key } = this.authStatus(`${provider}/`);
      return names.map((modelName) => ({
        id: `${provider}/${modelName}`,
        provider,
        modelName,
        hasApiKey,
        ...key,
      }));
    });
  }
}
