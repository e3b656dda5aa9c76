import {
  ResourceNotFoundError,
  UriTemplate,
  type ReadResourceResult,
  type Server,
} from "@modelcontextprotocol/server";
import { answerHandler } from "./answer-handler.ts";
import { type CallExtra, listingExtra } from "./call-extra.ts";
import { invalidParams } from "./invalid-params.ts";
import type { MCPServerResources } from "./server-config.ts";
import type { ServerParts } from "./server-parts.ts";

/** Per session. */
const MAX_SUBSCRIPTIONS = 1000;
const MAX_URI = 8192;

/** Handles resource requests. Lists are requested each time, because they may differ per caller. */
export function handleResources(
  server: Server,
  parts: ServerParts,
  resources: MCPServerResources,
  subscriptions: Set<string>,
): void {
  server.setRequestHandler("resources/list", (_request, ctx) =>
    answerHandler("The list of resources", listingExtra(ctx), parts, async (extra) => ({
      resources: await resources.listResources({ extra }),
    })),
  );
  server.setRequestHandler("resources/templates/list", (_request, ctx) =>
    answerHandler("The list of resource templates", listingExtra(ctx), parts, async (extra) => ({
      resourceTemplates: (await resources.resourceTemplates?.({ extra })) ?? [],
    })),
  );
  server.setRequestHandler("resources/read", ({ params: { uri } }, ctx) =>
    parts.converse(server, ctx, uri, true, (conversation) =>
      answerHandler("The resource handler", conversation.extra, parts, (extra) =>
        readResource(resources, uri, extra),
      ),
    ),
  );
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw invalidParams(`A client may subscribe to ${MAX_SUBSCRIPTIONS} resources.`);
    // Kept for the lifetime of the session.
    if (uri.length > MAX_URI) throw invalidParams(`A URI has at most ${MAX_URI} characters.`);
    subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscriptions.delete(uri);
    return {};
  });
}

/** Only resources that are listed or match a listed template can be read. */
export async function readResource(
  resources: MCPServerResources,
  uri: string,
  extra: CallExtra,
): Promise<ReadResourceResult> {
  const listed =
    (await resources.listResources({ extra })).find((resource) => resource.uri === uri) ??
    (await resources.resourceTemplates?.({ extra }))?.find(({ uriTemplate }) =>
      new UriTemplate(uriTemplate).match(uri),
    );
  if (!listed) throw new ResourceNotFoundError(uri);
  const content = await resources.getResourceContent({ uri, extra });
  const contents = (Array.isArray(content) ? content : [content]).map((part) => ({
    uri,
    ...(listed.mimeType !== undefined && { mimeType: listed.mimeType }),
    ...part,
  }));
  return { contents: contents as ReadResourceResult["contents"] };
}
