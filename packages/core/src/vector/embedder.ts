/** Turns texts into vectors. AI SDK embedding models become one with `toEmbedder`. */
export interface Embedder {
  readonly id: string;
  /** Known up front by local embedders; otherwise the length of the first vector decides. */
  readonly dimension?: number;
  embed(texts: string[], options?: { abortSignal?: AbortSignal }): Promise<number[][]>;
}
