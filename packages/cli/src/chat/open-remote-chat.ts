import { remoteClient, unreachable } from "../remote-client.ts";
import type { OpenChat } from "./chat-session.ts";
import { pickController, type WantedChat } from "./open-host-chat.ts";
import { oneLine } from "./printable.ts";

/** A session of a server. If the connection breaks, it resumes where it broke; the run continues meanwhile. */
export async function openRemoteChat(
  url: string,
  token: string | undefined,
  { controllerId, sessionId, threadId, resourceId }: WantedChat,
): Promise<OpenChat> {
  const client = remoteClient(url, token);
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
