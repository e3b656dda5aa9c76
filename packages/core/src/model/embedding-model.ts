/** An AI SDK embedding model, in specification v2, v3 or v4. */
export interface EmbeddingModel {
  readonly specificationVersion: string;
  readonly provider: string;
  readonly modelId: string;
  readonly maxEmbeddingsPerCall?: PromiseLike<number | undefined> | number | undefined;
  readonly supportsParallelCalls?: PromiseLike<boolean> | boolean | undefined;
  doEmbed(options: {
    values: string[];
    abortSignal?: AbortSignal;
    // JSON in the specification; its meaning is up to the provider.
    // oxlint-disable-next-line typescript/no-explicit-any
    providerOptions?: any;
  }): PromiseLike<{ embeddings: number[][] }>;
}
