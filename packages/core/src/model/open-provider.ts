import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { AgentError } from "../errors.ts";
import { adaptModel } from "./adapt-model.ts";
import { hiderOf } from "./hide-keys.ts";
import { importPackage } from "./import-package.ts";
import type { EmbeddingModel } from "./embedding-model.ts";
import type { ModelCandidate, ModelEndpoint } from "./model.ts";
import { findProvider, type ProviderEntry, PROVIDERS, similarProviders } from "./provider-registry.ts";

export type Environment = Record<string, string | undefined>;

const COMPATIBLE_PACKAGE = "@ai-sdk/openai-compatible";

/** The part of an AI SDK provider that we use; the same in every release line. */
interface Provider {
  languageModel(modelId: string): LanguageModelV2 | LanguageModelV3 | LanguageModelV4;
  embeddingModel?(modelId: string): EmbeddingModel;
  /** The name of `embeddingModel` before AI SDK 6. */
  textEmbeddingModel?(modelId: string): EmbeddingModel;
}
type ProviderFactory = (settings: Record<string, unknown>) => Provider;

/**
 * Opens a model by name, or at its own URL. With `url`, the OpenAI-compatible protocol is used. A key from the
 * environment is sent only to the provider's own host; another URL gets `apiKey` or nothing.
 */
export async function openProvider(endpoint: ModelEndpoint, env: Environment): Promise<ModelCandidate> {
  const { made, modelId, apiKey } = await open(endpoint, env);
  return {
    model: adaptModel(made.languageModel(modelId)),
    ...(apiKey !== undefined && { hideKey: hiderOf(apiKey) }),
  };
}

/** Opens an embedding model by name, or at its own URL. */
export async function openEmbeddingModel(endpoint: ModelEndpoint, env: Environment): Promise<EmbeddingModel> {
  const { made, modelId } = await open(endpoint, env);
  const model = made.embeddingModel?.(modelId) ?? made.textEmbeddingModel?.(modelId);
  if (model) return model;
  throw new AgentError(
    "model-unsupported",
    `The provider of "${endpoint.id}" has no embedding models. Use one that has, such as "openai/text-embedding-3-small".`,
  );
}

async function open(
  endpoint: ModelEndpoint,
  env: Environment,
): Promise<{ made: Provider; modelId: string; apiKey: string | undefined }> {
  const { provider, modelId } = splitId(endpoint);
  const entry = findProvider(provider);
  if (!entry && endpoint.url === undefined) throw unknownProvider(provider, endpoint.id);

  const baseUrl = endpoint.url ?? baseUrlOf(entry!, env);
  const apiKey = endpoint.apiKey ?? keyFor(entry, endpoint.url, env);
  if (apiKey === undefined && entry && endpoint.url === undefined && entry.keys.length > 0) {
    throw missingKey(provider, entry, endpoint.id);
  }
  const settings = {
    ...(apiKey !== undefined && { apiKey }),
    ...(endpoint.headers && { headers: endpoint.headers }),
  };

  const own = endpoint.url === undefined ? await ownFactory(entry!, endpoint.id) : undefined;
  const made = own
    ? own({ ...settings, ...(changedBaseUrl(entry!, baseUrl) && { baseURL: baseUrl }) })
    : (await compatibleFactory(endpoint.id, entry))({
        ...settings,
        name: provider,
        baseURL: checkedUrl(baseUrl, endpoint.id),
        includeUsage: true,
        supportsStructuredOutputs: entry?.jsonSchema ?? false,
      });
  return { made, modelId, apiKey };
}

function splitId({ id, url }: ModelEndpoint): { provider: string; modelId: string } {
  const slash = id.indexOf("/");
  if (slash > 0 && slash < id.length - 1)
    return { provider: id.slice(0, slash), modelId: id.slice(slash + 1) };
  if (url !== undefined && slash === -1 && id !== "") return { provider: "custom", modelId: id };
  throw new AgentError(
    "model-unknown",
    `"${id}" does not name a model. Write it as "provider/model", for example "openai/gpt-5" or "ollama/llama3.2".`,
  );
}

function keyFor(
  entry: ProviderEntry | undefined,
  url: string | undefined,
  env: Environment,
): string | undefined {
  if (!entry || (url !== undefined && hostOf(url) !== hostOf(entry.baseUrl))) return undefined;
  for (const variable of entry.keys) {
    const key = env[variable]?.trim();
    if (key) return key;
  }
  return undefined;
}

function hostOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).host : undefined;
}

function baseUrlOf(entry: ProviderEntry, env: Environment): string | undefined {
  const chosen = entry.baseUrlVariable && env[entry.baseUrlVariable]?.trim();
  if (!chosen) return entry.baseUrl;
  // Local servers are often given by origin; the API lives under /v1.
  return /^https?:\/\/[^/]+\/?$/.test(chosen) ? `${chosen.replace(/\/$/, "")}/v1` : chosen;
}

function changedBaseUrl(entry: ProviderEntry, baseUrl: string | undefined): boolean {
  return baseUrl !== undefined && baseUrl !== entry.baseUrl;
}

function checkedUrl(url: string | undefined, id: string): string {
  if (url !== undefined && /^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : "")) return url;
  throw new AgentError(
    "invalid-argument",
    `The URL of model "${id}" must be an http(s) URL, got ${JSON.stringify(url)}.`,
  );
}

/** `undefined` if the package is not installed and the compatible protocol can replace it. */
async function ownFactory(entry: ProviderEntry, id: string): Promise<ProviderFactory | undefined> {
  if (!entry.package) return undefined;
  const module = await importPackage(entry.package);
  if (module) return factoryOf(module, entry.package, entry.factories ?? []);
  if (entry.baseUrl !== undefined) return undefined;
  throw missingPackage(entry.package, `model "${id}"`);
}

async function compatibleFactory(id: string, entry: ProviderEntry | undefined): Promise<ProviderFactory> {
  const module = await importPackage(COMPATIBLE_PACKAGE);
  if (module) return factoryOf(module, COMPATIBLE_PACKAGE, ["createOpenAICompatible"]);
  throw missingPackage(entry?.package ?? COMPATIBLE_PACKAGE, `model "${id}"`);
}

function factoryOf(
  module: Record<string, unknown>,
  packageName: string,
  names: readonly string[],
): ProviderFactory {
  for (const name of names) {
    const factory = module[name];
    if (typeof factory === "function") return factory as ProviderFactory;
  }
  throw new AgentError(
    "model-unsupported",
    `The installed ${packageName} exports none of ${names.join(", ")}. Upgrade it: npm install ${packageName}@latest`,
  );
}

function missingPackage(packageName: string, what: string): AgentError {
  return new AgentError(
    "model-package-missing",
    `The package ${packageName} is not installed and ${what} needs it. Run: npm install ${packageName}`,
    { details: { package: packageName } },
  );
}

function missingKey(provider: string, entry: ProviderEntry, id: string): AgentError {
  const [variable, ...others] = entry.keys;
  const also = others.length > 0 ? ` (or ${others.join(", ")})` : "";
  return new AgentError(
    "model-key-missing",
    `There is no key for model "${id}". Set the environment variable ${variable}${also}, or pass { id: "${id}", apiKey }.`,
    { details: { provider, variables: [...entry.keys] } },
  );
}

function unknownProvider(provider: string, id: string): AgentError {
  const similar = similarProviders(provider);
  const hint =
    similar.length > 0
      ? `Did you mean ${similar.map((name) => `"${name}"`).join(" or ")}?`
      : `Known providers: ${Object.keys(PROVIDERS).join(", ")}.`;
  return new AgentError(
    "model-unknown",
    `"${provider}" in model "${id}" is not a known provider. ${hint} For any other OpenAI-compatible server, pass { id, url }.`,
    { details: { provider, similar } },
  );
}
