const SCHEMES: ReadonlySet<string> = new Set(["http:", "https:", "mailto:"]);

/** The address, if following it cannot run anything; what a model wrote decides nothing else here. */
export function safeHref(href: string): string | undefined {
  try {
    const url = new URL(href);
    return SCHEMES.has(url.protocol) ? url.href : undefined;
  } catch {
    return undefined;
  }
}
