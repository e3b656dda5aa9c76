import type { Mastra } from "@selvedge/core";
import type { AgentController } from "@selvedge/core/agent-controller";
import { AgentError } from "@selvedge/core/errors";
import type { OpenChat } from "./chat-session.ts";
import { wrapAgents } from "./wrap-agent.ts";

export interface WantedChat {
  /** The controller, or the agent that it was made for. The first one, when absent. */
  controllerId: string | undefined;
  sessionId: string | undefined;
  threadId: string | undefined;
  resourceId: string;
}

/** A session of a host in this process. */
export async function openHostChat(mastra: Mastra, wanted: WantedChat, about: string): Promise<OpenChat> {
  await wrapAgents(mastra);
  const controllers = Object.values(mastra.listAgentControllers()) as AgentController[];
  const controller = pickController(controllers, wanted.controllerId, "This project");
  const { resourceId, threadId } = wanted;
  const session = await controller.createSession({
    id: wanted.sessionId ?? resourceId,
    ownerId: resourceId,
    resourceId,
    ...(threadId !== undefined && { threadId }),
  });
  return {
    session,
    name: controller.id,
    about,
    modes: async () => controller.listModes(),
    models: () => controller.listAvailableModels(),
    onConnection: () => {},
    close: () => mastra.close(),
  };
}

/** The controller with this id, or the one of the agent with this id, or the first. */
export function pickController<Controller extends { id: string }>(
  controllers: readonly Controller[],
  wanted: string | undefined,
  where: string,
): Controller {
  const found =
    wanted === undefined
      ? controllers[0]
      : controllers.find(({ id }) => id === wanted || id === `${wanted}-chat`);
  if (found) return found;
  const names = controllers.map(({ id }) => id).join(", ");
  if (wanted !== undefined && names !== "")
    throw new AgentError("not-found", `${where} has no controller "${wanted}". Its controllers: ${names}.`);
  throw new AgentError(
    "not-found",
    `${where} has no agent controller. Register one: new Mastra({ agentControllers: { notes: new AgentController({ … }) } }).`,
  );
}
