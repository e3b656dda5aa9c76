import type { Client, ElicitRequest, ElicitResult, Progress } from "@modelcontextprotocol/client";
import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/client";
import type { ServerConnection } from "./server-connection.ts";

/** A request for information, as its handler sees it. */
export interface ElicitationRequest {
  message: string;
  // A JSON Schema of a flat form; the documentation reads its properties untyped.
  // oxlint-disable-next-line typescript/no-explicit-any
  requestedSchema: any;
  mode?: "form" | "url";
  url?: string;
}

export type ElicitationHandler = (
  request: ElicitationRequest,
) => Promise<ElicitationAnswer> | ElicitationAnswer;

/** `action` is a wide type, so that a handler can be written without `as const`. */
export interface ElicitationAnswer {
  action: ElicitResult["action"] | (string & {});
  content?: Record<string, unknown>;
}

/** Receives progress of calls; `tool` is the called tool. */
export type ProgressHandler = (progress: Progress & { tool: string }) => void;

/** Handlers an application registers, per server. */
export interface Handlers {
  elicitation?: ElicitationHandler;
  progress?: ProgressHandler;
  resourceUpdated?: (params: { uri: string }) => void;
  resourcesChanged?: () => void;
  promptsChanged?: () => void;
  toolsChanged?: () => void;
}

/** Responds to a server's requests and forwards its notifications. */
export function handleServerRequests(client: Client, connection: ServerConnection): void {
  const { handlers, definition } = connection;
  client.setRequestHandler("elicitation/create", async ({ params }: ElicitRequest) => {
    if (!handlers.elicitation) {
      // In this generation the client carries on the call: an error would end it, and the server would never hear of it.
      if (client.getProtocolEra() === "modern") return { action: "cancel" } satisfies ElicitResult;
      throw new ProtocolError(
        ProtocolErrorCode.InvalidRequest,
        `This client does not handle elicitation requests from "${connection.name}" here.`,
      );
    }
    return (await handlers.elicitation(params as ElicitationRequest)) as ElicitResult;
  });
  const { enableServerLogs = true } = definition;
  if (connection.roots) client.setRequestHandler("roots/list", () => ({ roots: connection.roots! }));
  const { sample } = connection;
  if (sample) {
    client.setRequestHandler("sampling/createMessage", async ({ params }, ctx) =>
      sample(params, { serverName: connection.name, signal: ctx.mcpReq.signal }),
    );
  }
  client.setNotificationHandler("notifications/message", ({ params: { level, data, logger } }) => {
    const message = typeof data === "string" ? data : JSON.stringify(data);
    if (enableServerLogs) connection.log(level, message, { ...(logger !== undefined && { logger }), data });
  });
  client.setNotificationHandler("notifications/resources/updated", ({ params }) =>
    handlers.resourceUpdated?.(params),
  );
  client.setNotificationHandler("notifications/resources/list_changed", () => handlers.resourcesChanged?.());
  client.setNotificationHandler("notifications/prompts/list_changed", () => handlers.promptsChanged?.());
  client.setNotificationHandler("notifications/tools/list_changed", () => {
    connection.toolChanges++;
    handlers.toolsChanged?.();
  });
}
