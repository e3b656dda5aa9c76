import { AgentError } from "@selvedge/core";
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from "@modelcontextprotocol/server";
import { checkAnswer } from "./check-answer.ts";

export interface AskRequest {
  method: string;
  params?: Record<string, unknown>;
}

/** Asks the client a question during a call. `key` names the question; without one, questions are numbered. */
export type Ask = (request: AskRequest, options?: { key?: string }) => Promise<unknown>;

const CAPABILITY_OF: Record<string, "elicitation" | "sampling" | "roots"> = {
  "elicitation/create": "elicitation",
  "sampling/createMessage": "sampling",
  "roots/list": "roots",
};

/** People answer slowly. */
export const ANSWER_TIMEOUT_MS = 600_000;

/** Rejects a question the client did not declare support for. */
export function checkAnswerable(request: AskRequest, declared: Record<string, unknown>): void {
  const needed = CAPABILITY_OF[request.method];
  if (!needed) {
    throw new AgentError(
      "not-supported",
      `A server may ask its client for ${Object.keys(CAPABILITY_OF).join(", ")}; got "${request.method}".`,
    );
  }
  if (declared[needed] === undefined) {
    throw new MissingRequiredClientCapabilityError(
      { requiredCapabilities: { [needed]: {} } },
      `The client did not declare the ${needed} capability, so "${request.method}" cannot be sent.`,
    );
  }
}

/** Asks over a session: sends a request to the calling client and returns its response. */
export function askOverSession(server: Server, ctx: ServerContext): Ask {
  return async (request) => {
    checkAnswerable(request, server.getClientCapabilities() ?? {});
    const options = { timeout: ANSWER_TIMEOUT_MS, resetTimeoutOnProgress: true, signal: ctx.mcpReq.signal };
    if (request.method === "elicitation/create") {
      const params = request.params as Parameters<ServerContext["mcpReq"]["elicitInput"]>[0];
      return checkAnswer(request, await ctx.mcpReq.elicitInput(params, options).catch(asOurs));
    }
    return ctx.mcpReq.send(request as { method: "roots/list" }, options);
  };
}

/** A client may notice itself that its answer does not fit. The tool gets the same error either way. */
function asOurs(thrown: unknown): never {
  if (ProtocolError.isInstance(thrown) && thrown.code === ProtocolErrorCode.InvalidParams)
    throw new AgentError("tool-input-invalid", thrown.message, { cause: thrown });
  throw thrown;
}
