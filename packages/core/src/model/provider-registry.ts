import { editDistance } from "../edit-distance.ts";
/** A known model provider. Plain data; nothing is fetched. */
export interface ProviderEntry {
  /** The provider's own AI SDK package, used if it is installed. */
  package?: string;
  /** The exports of `package` that create a provider, by preference (names changed between releases). */
  factories?: readonly string[];
  /** Environment variables that contain the key, by preference. Empty: no key is needed, or the package finds it. */
  keys: readonly string[];
  /** The provider's OpenAI-compatible endpoint. Without it, `package` is required. */
  baseUrl?: string;
  /** An environment variable that overrides `baseUrl`. */
  baseUrlVariable?: string;
  /** Whether the endpoint accepts a JSON schema for structured output. */
  jsonSchema?: boolean;
}

export const PROVIDERS: Readonly<Record<string, ProviderEntry>> = {
  openai: {
    package: "@ai-sdk/openai",
    factories: ["createOpenAI"],
    keys: ["OPENAI_API_KEY"],
    baseUrl: "https://api.openai.com/v1",
    baseUrlVariable: "OPENAI_BASE_URL",
    jsonSchema: true,
  },
  anthropic: {
    package: "@ai-sdk/anthropic",
    factories: ["createAnthropic"],
    keys: ["ANTHROPIC_API_KEY"],
  },
  google: {
    package: "@ai-sdk/google",
    factories: ["createGoogle", "createGoogleGenerativeAI"],
    keys: ["GOOGLE_GENERATIVE_AI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"],
    baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
    jsonSchema: true,
  },
  "amazon-bedrock": {
    package: "@ai-sdk/amazon-bedrock",
    factories: ["createAmazonBedrock"],
    keys: [],
  },
  azure: {
    package: "@ai-sdk/azure",
    factories: ["createAzure"],
    keys: ["AZURE_API_KEY"],
  },
  xai: {
    package: "@ai-sdk/xai",
    factories: ["createXai"],
    keys: ["XAI_API_KEY"],
    baseUrl: "https://api.x.ai/v1",
    jsonSchema: true,
  },
  mistral: {
    package: "@ai-sdk/mistral",
    factories: ["createMistral"],
    keys: ["MISTRAL_API_KEY"],
    baseUrl: "https://api.mistral.ai/v1",
    jsonSchema: true,
  },
  groq: {
    package: "@ai-sdk/groq",
    factories: ["createGroq"],
    keys: ["GROQ_API_KEY"],
    baseUrl: "https://api.groq.com/openai/v1",
  },
  cohere: {
    package: "@ai-sdk/cohere",
    factories: ["createCohere"],
    keys: ["COHERE_API_KEY"],
    baseUrl: "https://api.cohere.ai/compatibility/v1",
  },
  deepseek: {
    package: "@ai-sdk/deepseek",
    factories: ["createDeepSeek"],
    keys: ["DEEPSEEK_API_KEY"],
    baseUrl: "https://api.deepseek.com/v1",
  },
  perplexity: {
    package: "@ai-sdk/perplexity",
    factories: ["createPerplexity"],
    keys: ["PERPLEXITY_API_KEY"],
    baseUrl: "https://api.perplexity.ai",
  },
  together: { keys: ["TOGETHER_API_KEY", "TOGETHER_AI_API_KEY"], baseUrl: "https://api.together.xyz/v1" },
  fireworks: {
    keys: ["FIREWORKS_API_KEY"],
    baseUrl: "https://api.fireworks.ai/inference/v1",
    jsonSchema: true,
  },
  cerebras: { keys: ["CEREBRAS_API_KEY"], baseUrl: "https://api.cerebras.ai/v1", jsonSchema: true },
  openrouter: { keys: ["OPENROUTER_API_KEY"], baseUrl: "https://openrouter.ai/api/v1", jsonSchema: true },
  vercel: { keys: ["AI_GATEWAY_API_KEY"], baseUrl: "https://ai-gateway.vercel.sh/v1", jsonSchema: true },
  nvidia: { keys: ["NVIDIA_API_KEY"], baseUrl: "https://integrate.api.nvidia.com/v1" },
  huggingface: { keys: ["HF_TOKEN", "HUGGINGFACE_API_KEY"], baseUrl: "https://router.huggingface.co/v1" },
  deepinfra: { keys: ["DEEPINFRA_API_KEY"], baseUrl: "https://api.deepinfra.com/v1/openai" },
  sambanova: { keys: ["SAMBANOVA_API_KEY"], baseUrl: "https://api.sambanova.ai/v1" },
  moonshot: { keys: ["MOONSHOT_API_KEY"], baseUrl: "https://api.moonshot.ai/v1" },
  alibaba: { keys: ["DASHSCOPE_API_KEY"], baseUrl: "https://dashscope-intl.aliyuncs.com/compatible-mode/v1" },
  zai: { keys: ["ZAI_API_KEY"], baseUrl: "https://api.z.ai/api/paas/v4" },
  "github-models": { keys: ["GITHUB_TOKEN"], baseUrl: "https://models.github.ai/inference" },
  ollama: {
    keys: [],
    baseUrl: "http://127.0.0.1:11434/v1",
    baseUrlVariable: "OLLAMA_BASE_URL",
    jsonSchema: true,
  },
  lmstudio: {
    keys: [],
    baseUrl: "http://127.0.0.1:1234/v1",
    baseUrlVariable: "LMSTUDIO_BASE_URL",
    jsonSchema: true,
  },
  llamacpp: {
    keys: [],
    baseUrl: "http://127.0.0.1:8080/v1",
    baseUrlVariable: "LLAMACPP_BASE_URL",
    jsonSchema: true,
  },
};

/** Other spellings of the same provider. */
const ALIASES: Readonly<Record<string, string>> = {
  togetherai: "together",
  "fireworks-ai": "fireworks",
  moonshotai: "moonshot",
  "google-generative-ai": "google",
  gateway: "vercel",
  bedrock: "amazon-bedrock",
  "lm-studio": "lmstudio",
  "llama.cpp": "llamacpp",
};

export function findProvider(name: string): ProviderEntry | undefined {
  const known = Object.hasOwn(ALIASES, name) ? ALIASES[name]! : name;
  return Object.hasOwn(PROVIDERS, known) ? PROVIDERS[known] : undefined;
}

/** Known providers similar to `name`, best match first. */
export function similarProviders(name: string): string[] {
  const wanted = name.toLowerCase();
  return Object.keys(PROVIDERS)
    .map((known) => ({ known, distance: editDistance(wanted, known) }))
    .filter(
      ({ known, distance }) =>
        distance <= Math.max(2, Math.floor(known.length / 3)) || known.includes(wanted),
    )
    .sort((a, b) => a.distance - b.distance)
    .slice(0, 3)
    .map(({ known }) => known);
}
