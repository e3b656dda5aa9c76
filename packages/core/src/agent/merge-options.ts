import type { AgentExecutionOptions } from "../run/run-options.ts";

/** Options that merge by key, and how many levels deep. All others are replaced whole: a schema or a model is one thing. */
const MERGED_LEVELS: { [Key in keyof AgentExecutionOptions]?: number } = {
  memory: 3,
  memoryOptions: 2,
  modelSettings: 2,
  providerOptions: 3,
  structuredOutput: 1,
  toolsets: 2,
  clientTools: 1,
  telemetry: 2,
  limits: 1,
};

/** A new object: defaults with a call's own options over them. */
export function mergeOptions<Options extends object>(
  defaults: Options | undefined,
  own: Options | undefined,
): Options {
  if (!defaults) return { ...own } as Options;
  const merged = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(own ?? {})) {
    if (value !== undefined) put(merged, key, value, MERGED_LEVELS[key as keyof AgentExecutionOptions] ?? 0);
  }
  return merged as Options;
}

function put(target: Record<string, unknown>, key: string, value: unknown, levels: number): void {
  if (key === "__proto__") return;
  const base = target[key];
  if (levels === 0 || !isPlain(base) || !isPlain(value)) {
    target[key] = value;
    return;
  }
  const merged = { ...base };
  for (const [inner, next] of Object.entries(value))
    if (next !== undefined) put(merged, inner, next, levels - 1);
  target[key] = merged;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
