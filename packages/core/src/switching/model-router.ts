import type { LanguageModelV4GenerateResult, LanguageModelV4StreamResult } from "@ai-sdk/provider";
import { openEmbeddingModel } from "../model/open-provider.ts";
import { resolveModel } from "../model/resolve-model.ts";
import type { LanguageModel, ModelCallOptions, ModelEndpoint } from "../model/model.ts";
import type { EmbeddingModel } from "../vector/to-embedder.ts";

/** A model by name as a model object, for code that expects one. It is opened with the first call. */
export class ModelRouterLanguageModel implements LanguageModel {
  readonly specificationVersion = "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]> = {};
  readonly #endpoint: ModelEndpoint;
  #opening: Promise<LanguageModel> | undefined;

  constructor(model: string | ModelEndpoint) {
    this.#endpoint = toEndpoint(model);
    [this.provider, this.modelId] = namesOf(this.#endpoint);
  }

  doGenerate(options: ModelCallOptions): Promise<LanguageModelV4GenerateResult> {
    return this.#open().then((model) => model.doGenerate(options));
  }

  doStream(options: ModelCallOptions): Promise<LanguageModelV4StreamResult> {
    return this.#open().then((model) => model.doStream(options));
  }

  #open(): Promise<LanguageModel> {
    this.#opening ??= resolveModel(this.#endpoint).then(([first]) => first!.model);
    this.#opening.catch(() => (this.#opening = undefined));
    return this.#opening;
  }
}

/** An embedding model by name, such as `"openai/text-embedding-3-small"`. It is opened with the first call. */
export class ModelRouterEmbeddingModel implements EmbeddingModel {
  readonly specificationVersion = "v4";
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall = 2048;
  readonly supportsParallelCalls = true;
  readonly #endpoint: ModelEndpoint;
  #opening: Promise<EmbeddingModel> | undefined;

  constructor(model: string | ModelEndpoint) {
    this.#endpoint = toEndpoint(model);
    [this.provider, this.modelId] = namesOf(this.#endpoint);
  }

  async doEmbed(options: Parameters<EmbeddingModel["doEmbed"]>[0]): Promise<{ embeddings: number[][] }> {
    this.#opening ??= openEmbeddingModel(this.#endpoint, globalThis.process?.env ?? {});
    this.#opening.catch(() => (this.#opening = undefined));
    return (await this.#opening).doEmbed(options);
  }
}

function toEndpoint(model: string | ModelEndpoint): ModelEndpoint {
  return typeof model === "string" ? { id: model } : model;
}

function namesOf({ id }: ModelEndpoint): [provider: string, modelId: string] {
  const slash = id.indexOf("/");
  return slash < 0 ? ["custom", id] : [id.slice(0, slash), id.slice(slash + 1)];
}
