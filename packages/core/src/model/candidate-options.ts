import type { ModelCallOptions, ModelCandidate, ModelSettings } from "./model.ts";

/**
 * Merges one candidate's options into the call options: its settings win individually, its headers and provider options
 * by key. Undefined settings leave the option unchanged.
 */
export function candidateOptions(options: ModelCallOptions, candidate: ModelCandidate): ModelCallOptions {
  const { modelSettings, providerOptions, headers } = candidate;
  if (!modelSettings && !providerOptions && !headers) return options;
  const merged: ModelCallOptions = { ...options };
  if (modelSettings) applySettings(merged, modelSettings);
  if (providerOptions)
    merged.providerOptions = mergeProviderOptions(options.providerOptions, providerOptions);
  if (headers) merged.headers = { ...merged.headers, ...headers };
  return merged;
}

/** Copies model settings to call options, except `maxRetries`, which belongs to the transport. */
export function applySettings(options: ModelCallOptions, settings: ModelSettings): void {
  const { maxRetries: _, headers, ...sampling } = settings;
  for (const [name, value] of Object.entries(sampling)) {
    if (value !== undefined) Object.assign(options, { [name]: value });
  }
  if (headers) options.headers = { ...options.headers, ...headers };
}

type ProviderOptions = NonNullable<ModelCallOptions["providerOptions"]>;

function mergeProviderOptions(
  base: ProviderOptions | undefined,
  own: Record<string, Record<string, unknown>>,
): ProviderOptions {
  const merged: Record<string, Record<string, unknown>> = { ...base };
  for (const [provider, values] of Object.entries(own)) merged[provider] = { ...merged[provider], ...values };
  return merged as ProviderOptions;
}
