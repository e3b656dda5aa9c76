import { Server, type RequestStateCodec } from "@modelcontextprotocol/server";
import { answerHandler } from "./answer-handler.ts";
import { listingExtra } from "./call-extra.ts";
import { handlePrompts } from "./prompts-handlers.ts";
import { handleResources } from "./resources-handlers.ts";
import type { ServerParts } from "./server-parts.ts";
import { handleTools } from "./tools-handlers.ts";

/** One connection (or one stateless request) of the protocol library, with its client's subscriptions. */
export interface Connection {
  server: Server;
  subscriptions: Set<string>;
}

export function openConnection(parts: ServerParts, codec?: RequestStateCodec): Connection {
  const { config } = parts;
  const server = new Server(
    {
      name: config.name,
      version: config.version,
      ...(config.description !== undefined && { description: config.description }),
      ...(config.icons && { icons: config.icons }),
    },
    {
      capabilities: {
        tools: { listChanged: true },
        logging: {},
        ...(config.resources && { resources: { subscribe: true, listChanged: true } }),
        ...(config.prompts && { prompts: { listChanged: true } }),
        ...(config.complete && { completions: {} }),
      },
      ...(config.instructions !== undefined && { instructions: config.instructions }),
      ...(codec && { requestState: { verify: codec.verify } }),
    },
  );
  const subscriptions = new Set<string>();
  server.onerror = (error) => parts.logger.debug("MCP connection:", error);
  handleTools(server, parts);
  if (config.resources) handleResources(server, parts, config.resources, subscriptions);
  if (config.prompts) handlePrompts(server, parts, config.prompts);
  const { complete } = config;
  if (complete) {
    server.setRequestHandler("completion/complete", async ({ params }, ctx) => {
      const given = await answerHandler("The completion", listingExtra(ctx), parts, () => complete(params));
      // The protocol allows at most 100 values.
      const all = Array.isArray(given) ? { values: given, total: given.length } : given;
      const values = all.values.slice(0, 100);
      return { completion: { ...all, values, hasMore: all.hasMore ?? values.length < all.values.length } };
    });
  }
  return { server, subscriptions };
}
