export { localEmbedder } from "./local-embedder.ts";
export type { LocalEmbedderOptions } from "./local-embedder.ts";
