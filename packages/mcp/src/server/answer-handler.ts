import { ProtocolError, ProtocolErrorCode } from "@modelcontextprotocol/server";
import type { CallExtra } from "./call-extra.ts";
import { publicMessage } from "./public-message.ts";
import { runHandler } from "./run-handler.ts";
import type { ServerParts } from "./server-parts.ts";

/** Returns an app handler's result for the client, or an error message that is safe to show to clients. */
export async function answerHandler<Result>(
  subject: string,
  extra: CallExtra,
  parts: ServerParts,
  work: (extra: CallExtra) => Promise<Result>,
): Promise<Result> {
  try {
    return await runHandler(subject, extra, parts.guard, work);
  } catch (thrown) {
    if (ProtocolError.isInstance(thrown)) throw thrown;
    const message = publicMessage(subject, thrown, parts, extra.authInfo);
    throw new ProtocolError(ProtocolErrorCode.InternalError, message);
  }
}
