import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { Agent } from "../../agent/agent.ts";
import { silentLogger } from "../../logger.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { Storage } from "../../storage/storage.ts";
import { createTool, type ToolsInput } from "../../tool/tool.ts";
import { AgentController } from "../agent-controller.ts";
import type { AgentControllerConfig } from "../config.ts";
import type { AgentControllerEvent, AgentControllerEventType, EventOf } from "@selvedge/protocol/session";
import type { Session } from "../session.ts";

export interface Made {
  controller: AgentController;
  model: ScriptedModel;
  storage: Storage;
  /** What tools did. */
  ran: string[];
}

/** A controller on a scripted model, with the modes `plan` (default) and `build`. */
export function controllerWith(
  script: Script,
  {
    tools = {},
    storage = new InMemoryStorage(),
    ...more
  }: Omit<Partial<AgentControllerConfig>, "tools"> & { tools?: ToolsInput } = {},
): Made {
  const ran: string[] = [];
  const model = scriptedModel(script);
  const made = createTool({
    id: "write",
    description: "Writes.",
    execute: async ({ context }) => {
      ran.push(`write ${JSON.stringify(context)}`);
      return "written";
    },
  });
  const agent = new Agent({
    name: "weaver",
    instructions: "Weave.",
    model,
    tools: { write: made, ...tools },
  }) as unknown as Agent;
  const controller = new AgentController({
    id: "loom",
    agent,
    storage,
    modes: [
      { id: "plan", metadata: { default: true }, instructions: "Plan first.", transitionsTo: "build" },
      { id: "build", instructions: "Build now." },
    ],
    toolCategoryResolver: (name) => (name === "write" ? "edit" : null),
    logger: silentLogger,
    ...more,
  });
  return { controller, model, storage, ran };
}

/** Collects the events of a session. */
export class Listener {
  readonly events: AgentControllerEvent[] = [];
  readonly #session: Pick<Session, "subscribe">;

  constructor(session: Pick<Session, "subscribe">) {
    this.#session = session;
    session.subscribe((event) => void this.events.push(event));
  }

  get types(): string[] {
    return this.events.flatMap(({ type }) => (type === "display_state_changed" ? [] : [type]));
  }

  all<Type extends AgentControllerEventType>(type: Type): EventOf<Type>[] {
    return this.events.filter((event) => event.type === type) as unknown as EventOf<Type>[];
  }

  /** The first or a later event of a type, as soon as it arrives. */
  until<Type extends AgentControllerEventType>(type: Type, count = 1): Promise<EventOf<Type>> {
    return new Promise((resolve) => {
      const look = () => {
        const event = this.all(type)[count - 1];
        if (event) resolve(event);
        return event !== undefined;
      };
      if (look()) return;
      const stop = this.#session.subscribe(() => {
        if (look()) stop();
      });
    });
  }
}

export const call = (toolName: string, input: object, toolCallId?: string) => ({
  toolCalls: [{ toolName, input, ...(toolCallId !== undefined && { toolCallId }) }],
});

/** The system messages of a model call. */
export function systemOf(model: ScriptedModel, index: number): string {
  return model.calls[index]!.prompt.flatMap(({ role, content }) => (role === "system" ? [content] : [])).join(
    "\n",
  );
}

export function toolsOf(model: ScriptedModel, index: number): string[] {
  return (model.calls[index]!.tools ?? []).map(({ name }) => name).toSorted();
}
