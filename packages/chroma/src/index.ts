export { ChromaVector } from "./chroma-vector.ts";
export type { ChromaVectorOptions, ChromaVectorQuery } from "./chroma-vector.ts";
export { FILTER_PROMPT as CHROMA_PROMPT } from "@selvedge/core/vector";
