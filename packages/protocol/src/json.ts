export type JSONValue = null | string | number | boolean | JSONValue[] | { [key: string]: JSONValue };

/** Options or metadata grouped by provider name, passed through untouched. */
export type ProviderMetadata = Record<string, Record<string, JSONValue>>;
