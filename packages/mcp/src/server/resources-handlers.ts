import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  UriTemplate,
  type ReadResourceResult,
  type Server,
} from "@modelcontextprotocol/server";
import { type CallExtra, listingExtra } from "./call-extra.ts";
import { invalidParams } from "./invalid-params.ts";
import { publicMessage } from "./public-message.ts";
import type { MCPServerResources } from "./server-config.ts";
import type { ServerParts } from "./server-parts.ts";

/** Per session. */
const MAX_SUBSCRIPTIONS = 1000;

/** Answers what clients ask about resources. Lists are asked for each time: they may differ from caller to caller. */
export function handleResources(
  server: Server,
  parts: ServerParts,
  resources: MCPServerResources,
  subscriptions: Set<string>,
): void {
  server.setRequestHandler("resources/list", (_request, ctx) =>
    guarded(parts, async () => ({ resources: await resources.listResources({ extra: listingExtra(ctx) }) })),
  );
  server.setRequestHandler("resources/templates/list", (_request, ctx) =>
    guarded(parts, async () => ({
      resourceTemplates: (await resources.resourceTemplates?.({ extra: listingExtra(ctx) })) ?? [],
    })),
  );
  server.setRequestHandler("resources/read", ({ params: { uri } }, ctx) =>
    parts.converse(server, ctx, uri, true, (conversation) =>
      guarded(parts, () => readResource(resources, uri, conversation.extra)),
    ),
  );
  server.setRequestHandler("resources/subscribe", ({ params: { uri } }) => {
    if (subscriptions.size >= MAX_SUBSCRIPTIONS)
      throw invalidParams(`A client may subscribe to ${MAX_SUBSCRIPTIONS} resources.`);
    subscriptions.add(uri);
    return {};
  });
  server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
    subscriptions.delete(uri);
    return {};
  });
}

async function guarded<Result>(parts: ServerParts, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    if (ProtocolError.isInstance(thrown)) throw thrown;
    throw new ProtocolError(
      ProtocolErrorCode.InternalError,
      publicMessage("The resource handler", thrown, parts),
    );
  }
}

/** Only what is listed, or fits a listed template, can be read. */
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
