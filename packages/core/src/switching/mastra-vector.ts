import { AgentError } from "../errors.ts";
import type { Vector } from "../vector/vector.ts";

/** The base of an app's own vector store. Any object with the methods of `Vector` works as well. */
export abstract class MastraVector implements Vector {
  readonly id: string;

  constructor({ id }: { id: string }) {
    if (typeof id !== "string" || id === "")
      throw new AgentError(
        "invalid-argument",
        `A vector store needs an id, such as super({ id: "docs" }), but got ${JSON.stringify(id)}.`,
      );
    this.id = id;
  }

  abstract createIndex(options: Parameters<Vector["createIndex"]>[0]): Promise<void>;
  abstract listIndexes(): Promise<string[]>;
  abstract describeIndex(options: { indexName: string }): ReturnType<Vector["describeIndex"]>;
  abstract deleteIndex(options: { indexName: string }): Promise<void>;
  abstract upsert(options: Parameters<Vector["upsert"]>[0]): Promise<string[]>;
  abstract query(options: Parameters<Vector["query"]>[0]): ReturnType<Vector["query"]>;
  abstract updateVector(options: Parameters<Vector["updateVector"]>[0]): Promise<void>;
  abstract deleteVector(options: { indexName: string; id: string }): Promise<void>;
  abstract truncateIndex(options: { indexName: string }): Promise<void>;
  abstract deleteVectors(options: Parameters<Vector["deleteVectors"]>[0]): Promise<void>;
}
