/** Turns texts into vectors. `toEmbedder` wraps AI SDK embedding models. */
export interface Embedder {
  readonly id: string;
  /** Known in advance by local embedders; otherwise taken from the first vector. */
  readonly dimension?: number;
  embed(texts: string[], options?: { abortSignal?: AbortSignal }): Promise<number[][]>;
}
