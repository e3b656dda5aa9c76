import { AgentError } from "@selvedge/core";
import type { AuthInfo, RequestId, ServerContext } from "@modelcontextprotocol/server";
import type { Ask } from "./ask.ts";

/** What the transport knows about the caller, and ways to reach the client during the call: `options.extra`. */
export interface CallExtra {
  authInfo?: AuthInfo;
  sessionId?: string;
  signal: AbortSignal;
  requestId: RequestId;
  _meta?: Record<string, unknown>;
  /** The client's declared capabilities. */
  clientCapabilities: Record<string, unknown>;
  sendNotification(notification: { method: string; params?: Record<string, unknown> }): Promise<void>;
  /** Sends a request to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  sendRequest(
    request: { method: string; params?: Record<string, unknown> },
    ...rest: unknown[]
    // The result's shape depends on the method, which is data here.
    // oxlint-disable-next-line typescript/no-explicit-any
  ): Promise<any>;
  log(level: LogLevel, data: unknown, logger?: string): Promise<void>;
}

type LogLevel = Parameters<ServerContext["mcpReq"]["log"]>[0];

/** `current` is the exchange the call is in now: a call that waits for answers spans several. */
export function callExtra(
  current: () => ServerContext,
  signal: AbortSignal,
  ask: Ask,
  clientCapabilities: Record<string, unknown>,
): CallExtra {
  const { sessionId, http, mcpReq } = current();
  const log: CallExtra["log"] = (level, data, logger) => current().mcpReq.log(level, data, logger);
  return {
    ...(http?.authInfo && { authInfo: http.authInfo }),
    ...(sessionId !== undefined && { sessionId }),
    ...(mcpReq._meta && { _meta: mcpReq._meta }),
    signal,
    requestId: mcpReq.id,
    clientCapabilities,
    log,
    sendNotification: async (notification) => {
      // Log messages pass through the level the client set.
      if (notification.method === "notifications/message") {
        const { level, data, logger } = (notification.params ?? {}) as Record<string, unknown>;
        return log(level as LogLevel, data, logger as string | undefined);
      }
      await current().mcpReq.notify(notification as Parameters<ServerContext["mcpReq"]["notify"]>[0]);
    },
    // The older protocol library expects a result schema second and options third.
    sendRequest: (request, ...rest) => ask(request, rest.find(isAskOptions)),
  };
}

/** For requests during which a client cannot be asked. */
export function listingExtra(ctx: ServerContext): CallExtra {
  const refuse: Ask = (request) =>
    Promise.reject(
      new AgentError(
        "not-supported",
        `"${request.method}" cannot be sent while ${ctx.mcpReq.method} is being answered.`,
      ),
    );
  return callExtra(() => ctx, ctx.mcpReq.signal, refuse, {});
}

/** For calls without a client: there is no one to ask or notify. */
export function hostExtra(
  requestId: string,
  { authInfo, signal = new AbortController().signal }: { authInfo?: AuthInfo; signal?: AbortSignal } = {},
): CallExtra {
  return {
    ...(authInfo && { authInfo }),
    signal,
    requestId,
    clientCapabilities: {},
    log: async () => {},
    sendNotification: async () => {},
    sendRequest: ({ method }) =>
      Promise.reject(new AgentError("not-supported", `"${method}" cannot be sent: no client is connected.`)),
  };
}

function isAskOptions(value: unknown): value is { key?: string } {
  return typeof value === "object" && value !== null && !("~standard" in value) && !("parse" in value);
}
