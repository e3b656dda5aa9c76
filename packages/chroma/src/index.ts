export { ChromaVector } from "./chroma-vector.ts";
export type { ChromaVectorOptions, ChromaVectorQuery } from "./chroma-vector.ts";
