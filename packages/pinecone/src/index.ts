export { PineconeVector } from "./pinecone-vector.ts";
export type { PineconeVectorOptions, PineconeVectorQuery } from "./pinecone-vector.ts";
export { FILTER_PROMPT as PINECONE_PROMPT } from "@selvedge/core/vector";
