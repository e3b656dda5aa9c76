import { OPTION_RULES } from "../run/option-rules.ts";

/** A new object: the defaults, overridden by a call's own options. */
export function mergeOptions<Options extends object>(
  defaults: Options | undefined,
  own: Options | undefined,
): Options {
  if (!defaults) return { ...own } as Options;
  const merged = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(own ?? {})) {
    if (value !== undefined) put(merged, key, value, levelsOf(key));
  }
  return merged as Options;
}

function levelsOf(name: string): number {
  return Object.hasOwn(OPTION_RULES, name) ? OPTION_RULES[name as keyof typeof OPTION_RULES].merge : 0;
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
