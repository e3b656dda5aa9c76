import { MastraClient } from "@selvedge/client-js";
import { AgentError } from "@selvedge/core/errors";
import type { OpenChat } from "./chat-session.ts";
import { pickController, type WantedChat } from "./open-host-chat.ts";
import { oneLine } from "./printable.ts";

/** A session of a server. If the connection breaks, it is taken up where it broke; the run goes on meanwhile. */
export async function openRemoteChat(
  url: string,
  token: string | undefined,
  { controllerId, sessionId, threadId, resourceId }: WantedChat,
): Promise<OpenChat> {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? ""))
    throw new AgentError(
      "invalid-argument",
      `--url must be an address such as http://127.0.0.1:4111, got ${JSON.stringify(url)}.`,
    );
  const headers = token ? { authorization: `Bearer ${token}` } : {};
  const client = new MastraClient({ baseUrl: url, headers });
  const { agentControllers } = await client
    .call("listControllers")
    .catch((error: unknown) => unreachable(url, error));
  const { id } = pickController(agentControllers, controllerId, `The server at ${url}`);
  const controller = client.getAgentController(id);
  let told: (state: "live" | "reconnecting") => void = () => {};
  const session = controller.session(sessionId, {
    resourceId,
    ...(threadId !== undefined && { threadId }),
    onConnection: (state) => told(state),
  });
  await session.open();
  return {
    session,
    name: oneLine(id),
    about: `on ${url}`,
    modes: () => controller.listModes(),
    models: () => controller.listAvailableModels(),
    onConnection: (listener) => void (told = listener),
    close: async () => session.close(),
  };
}

function unreachable(url: string, error: unknown): never {
  if (!AgentError.is(error) || error.code !== "connection-failed") throw error;
  throw new AgentError(
    "connection-failed",
    `Cannot reach a server at ${url} (${rootCause(error)}). Start one with \`selvedge dev\`, which prints its address.`,
    { cause: error },
  );
}

/** What happened at the bottom, such as `connect ECONNREFUSED 127.0.0.1:4111`. */
function rootCause(error: Error): string {
  return error.cause instanceof Error ? rootCause(error.cause) : error.message;
}
