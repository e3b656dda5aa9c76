import type { InputRequiredResult, Server, ServerContext } from "@modelcontextprotocol/server";
import { type Ask, askOverSession } from "./ask.ts";
import { callExtra, type CallExtra } from "./call-extra.ts";
import { declaredCapabilities } from "./open-call.ts";
import type { OpenCalls } from "./open-calls.ts";

/** A call as its handler sees it, in either version of the protocol. */
export interface Conversation {
  extra: CallExtra;
  ask: Ask;
  /** Reports progress to the client, if it asked for progress. */
  progress(output: unknown): Promise<void>;
}

/** Runs one call's work; `subject` names what was called. */
export type Converse = <Result>(
  server: Server,
  ctx: ServerContext,
  subject: unknown,
  repeatable: boolean,
  work: (conversation: Conversation) => Promise<Result>,
) => Promise<Result | InputRequiredResult>;

/** With sessions, questions are requests to the client. */
export const converseOverSession: Converse = (server, ctx, _subject, _repeatable, work) => {
  const ask = askOverSession(server, ctx);
  const capabilities = (server.getClientCapabilities() ?? {}) as Record<string, unknown>;
  const extra = callExtra(() => ctx, ctx.mcpReq.signal, ask, capabilities);
  return work({ extra, ask, progress: progressOf(() => ctx) });
};

/** Without sessions, questions are returned as the call's result, and the answers arrive with the next call. */
export function converseInRounds(calls: OpenCalls): Converse {
  return (_server, ctx, subject, repeatable, work) =>
    calls.run(ctx, subject, repeatable, (call) => {
      const current = (): ServerContext => call.ctx;
      const extra = callExtra(current, call.controller.signal, call.ask, declaredCapabilities(ctx));
      return work({ extra, ask: call.ask, progress: progressOf(current) });
    });
}

function progressOf(current: () => ServerContext): Conversation["progress"] {
  let progress = 0;
  return async (output) => {
    const { mcpReq } = current();
    const progressToken = mcpReq._meta?.progressToken;
    if (progressToken === undefined) return;
    const message = typeof output === "string" ? output : JSON.stringify(output);
    await mcpReq.notify({
      method: "notifications/progress",
      params: { progressToken, progress: ++progress, message },
    });
  };
}
