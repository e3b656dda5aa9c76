import { pathToFileURL } from "node:url";

/** What `LibSQLStore` takes for what people write: a path, `:memory:`, or a URL. */
export function toUrl(storage: string): string {
  return storage === ":memory:" || storage.startsWith("file:") ? storage : pathToFileURL(storage).href;
}
