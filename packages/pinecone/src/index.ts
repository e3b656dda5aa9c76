export { PineconeVector } from "./pinecone-vector.ts";
export type { PineconeVectorOptions, PineconeVectorQuery } from "./pinecone-vector.ts";
