/** Defaults with a call's own options over them: plain objects merge by key, everything else is replaced. */
export function mergeOptions<Options extends object>(defaults: Options | undefined, own: Options | undefined): Options {
  if (!defaults) return own ?? ({} as Options);
  const merged = { ...defaults } as Record<string, unknown>;
  for (const [key, value] of Object.entries(own ?? {})) {
    if (value === undefined) continue;
    const base = merged[key];
    merged[key] = isPlain(base) && isPlain(value) ? mergeOptions(base, value) : value;
  }
  return merged as Options;
}

function isPlain(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
