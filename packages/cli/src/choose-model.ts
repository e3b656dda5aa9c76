import { type ModelSpec, PROVIDERS } from "@selvedge/core/model";
import { demoModel } from "./demo/demo-model.ts";

type Environment = Record<string, string | undefined>;

export interface ModelChoice {
  model: ModelSpec;
  name: string;
  /** In a few words, for the person in front of it. */
  why: string;
  /** It is the demo model. */
  scripted?: true;
}

/**
 * The model to use for a provider whose key is there. Providers that are not in this list are never chosen by
 * themselves: their variables (`GITHUB_TOKEN`, `HF_TOKEN`) are set for other reasons on many machines.
 */
const FIRST_CHOICE: Readonly<Record<string, string>> = {
  openai: "gpt-5.5",
  anthropic: "claude-sonnet-4-6",
  google: "gemini-flash-latest",
  mistral: "mistral-small-latest",
  xai: "grok-4",
  groq: "llama-3.3-70b-versatile",
  deepseek: "deepseek-chat",
  openrouter: "openrouter/auto",
};

const LOCAL_SERVERS = ["ollama", "lmstudio"];
const PROBE_MS = 300;

/** What was asked for, else what the environment offers, else the scripted demo model. */
export async function chooseModel(flag: string | undefined, env: Environment): Promise<ModelChoice> {
  if (flag !== undefined) return named(flag, "chosen with --model");
  const variable = env["SELVEDGE_MODEL"]?.trim();
  if (variable) return named(variable, "chosen with SELVEDGE_MODEL");
  return withKey(env) ?? (await localModel(env)) ?? demo("no API key is set");
}

function named(name: string, why: string): ModelChoice {
  return name === "demo" ? demo(why) : { model: name, name, why };
}

function demo(why: string): ModelChoice {
  return { model: demoModel(), name: "a scripted model", why, scripted: true };
}

function withKey(env: Environment): ModelChoice | undefined {
  for (const [provider, model] of Object.entries(FIRST_CHOICE)) {
    const variable = PROVIDERS[provider]?.keys.find((key) => env[key]?.trim());
    if (variable) return named(`${provider}/${model}`, `${variable} is set`);
  }
  return undefined;
}

async function localModel(env: Environment): Promise<ModelChoice | undefined> {
  const found = await Promise.all(LOCAL_SERVERS.map((provider) => firstServed(provider, env)));
  return found.find((choice) => choice !== undefined);
}

/** The first chat model that a server on this machine lists. One that does not answer at once is not there. */
async function firstServed(provider: string, env: Environment): Promise<ModelChoice | undefined> {
  const entry = PROVIDERS[provider];
  const override = entry?.baseUrlVariable && env[entry.baseUrlVariable]?.trim();
  // An address of the person's own is used when they name the model; only this machine is asked unprompted.
  if (!entry?.baseUrl || override) return undefined;
  try {
    const response = await fetch(`${entry.baseUrl}/models`, { signal: AbortSignal.timeout(PROBE_MS) });
    const { data } = (await response.json()) as { data?: { id?: unknown }[] };
    const served = (data ?? []).map(({ id }) => id).filter((id) => typeof id === "string");
    const id = served.find((name) => !/embed/i.test(name));
    return id === undefined
      ? undefined
      : named(`${provider}/${id}`, `${provider} is running on this machine`);
  } catch {
    return undefined;
  }
}
