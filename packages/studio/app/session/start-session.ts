import type { MastraClient } from "@selvedge/client-js";
import { path } from "../router.tsx";

export function sessionPath(controllerId: string, sessionId: string): string {
  return path(["sessions", controllerId, sessionId]);
}

/** Opens a session on a thread of its own, says the first words there, and answers where it is. */
export async function startSession(
  client: MastraClient,
  options: {
    controllerId: string;
    resourceId: string;
    /** A mode other than the first. */
    modeId?: string | undefined;
    message?: string | undefined;
    /** A thread that exists. */
    threadId?: string | undefined;
  },
): Promise<string> {
  const { controllerId, resourceId, modeId, message, threadId = crypto.randomUUID() } = options;
  const { id } = await client.call("createSession", {
    params: { controllerId },
    body: { id: crypto.randomUUID(), resourceId, threadId },
  });
  const params = { controllerId, sessionId: id };
  if (modeId !== undefined) await client.call("switchSessionMode", { params, body: { modeId } });
  if (message !== undefined) await client.call("sendSessionMessage", { params, body: { message } });
  return sessionPath(controllerId, id);
}
