import type { RouteCalls } from "@selvedge/protocol/routes";
import { call, type CallResult } from "./call.ts";
import type { RequestInput, Transport } from "./transport.ts";

/** A vector store on a server. */
export class ClientVector {
  readonly name: string;
  readonly #transport: Transport;

  constructor(transport: Transport, name: string) {
    this.#transport = transport;
    this.name = name;
  }

  getIndexes(): Promise<CallResult<"listVectorIndexes">> {
    return this.#call("listVectorIndexes", {});
  }

  details(indexName: string): Promise<CallResult<"getVectorIndex">> {
    return this.#call("getVectorIndex", { params: { indexName } });
  }

  delete(indexName: string): Promise<CallResult<"deleteVectorIndex">> {
    return this.#call("deleteVectorIndex", { params: { indexName } });
  }

  createIndex(body: RouteCalls["createVectorIndex"]["body"]): Promise<CallResult<"createVectorIndex">> {
    return this.#call("createVectorIndex", { body });
  }

  upsert(body: RouteCalls["upsertVectors"]["body"]): Promise<CallResult<"upsertVectors">> {
    return this.#call("upsertVectors", { body });
  }

  query(body: RouteCalls["queryVectors"]["body"]): Promise<CallResult<"queryVectors">> {
    return this.#call("queryVectors", { body });
  }

  #call<Name extends keyof RouteCalls>(name: Name, input: RequestInput): Promise<CallResult<Name>> {
    return call(this.#transport, name, { ...input, params: { vectorName: this.name, ...input.params } });
  }
}
