import type { Resource, ResourceTemplateType } from "@modelcontextprotocol/client";
import { byServer, type Connections, offers, quietly } from "./connections.ts";
import type { ReadResourceResult } from "./resource-content.ts";

/** Actions on the resources of servers. */
export class ResourceActions {
  readonly #connections: Connections;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  list(): Promise<Record<string, Resource[]>> {
    return byServer(this.#connections, (connection) =>
      connection.use(true, async (client) =>
        offers(client, "resources")
          ? (await client.listResources(undefined, connection.requestOptions)).resources
          : [],
      ),
    );
  }

  templates(): Promise<Record<string, ResourceTemplateType[]>> {
    return byServer(this.#connections, (connection) =>
      connection.use(true, async (client) =>
        offers(client, "resources")
          ? (await client.listResourceTemplates(undefined, connection.requestOptions)).resourceTemplates
          : [],
      ),
    );
  }

  async read(serverName: string, uri: string): Promise<ReadResourceResult> {
    const connection = this.#connections.find(serverName);
    const read = connection.use(true, (client) => client.readResource({ uri }, connection.requestOptions));
    return (await read) as ReadResourceResult;
  }

  async subscribe(serverName: string, uri: string): Promise<object> {
    await this.#connections.find(serverName).subscribe(uri);
    return {};
  }

  async unsubscribe(serverName: string, uri: string): Promise<object> {
    await this.#connections.find(serverName).unsubscribe(uri);
    return {};
  }

  onUpdated(serverName: string, handler: (params: { uri: string }) => void): Promise<void> {
    const connection = this.#connections.find(serverName);
    connection.handlers.resourceUpdated = handler;
    return quietly(connection.listen());
  }

  onListChanged(serverName: string, handler: () => void): Promise<void> {
    const connection = this.#connections.find(serverName);
    connection.handlers.resourcesChanged = handler;
    return quietly(connection.listen());
  }
}
