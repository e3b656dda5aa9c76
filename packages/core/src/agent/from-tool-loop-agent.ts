import { AgentError, showValue } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import { Agent } from "./agent.ts";
import type { AgentConfig } from "./agent-config.ts";

/** A `ToolLoopAgent` of the AI SDK. What it was made of is in `settings`, which its type does not show. */
export interface ToolLoopAgentLike {
  readonly version: string;
  readonly tools: unknown;
  generate(options: any): unknown;
  stream(options: any): unknown;
}

/** Settings that a call of an agent has under the same name. */
const OF_A_CALL = ["stopWhen", "toolChoice", "activeTools", "providerOptions", "maxRetries"] as const;
const OF_A_MODEL = ["maxOutputTokens", "temperature", "topP", "topK", "seed", "stopSequences"] as const;

/** The agent under a key of `new Mastra({ agents })`: as it is, or made from an agent of the AI SDK. */
export function toAgent(key: string, value: Agent<any, any> | ToolLoopAgentLike): Agent<any, any> {
  if (typeof (value as Agent | undefined)?.useHost === "function") return value as Agent;
  const settings = (value as { settings?: Record<string, any> } | undefined)?.settings;
  if (!settings?.model)
    throw new AgentError(
      "invalid-argument",
      `agents.${key} must be an Agent or a ToolLoopAgent of the AI SDK, got ${showValue(value)}.`,
    );
  return new Agent({
    id: settings.id ?? key,
    name: settings.id ?? key,
    instructions: settings.instructions ?? "",
    model: settings.model as AgentConfig["model"],
    tools: settings.tools ?? {},
    defaultOptions: {
      ...(pick(settings, OF_A_CALL) as AgentExecutionOptions),
      modelSettings: pick(settings, OF_A_MODEL),
    },
  });
}

function pick(settings: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    names.filter((name) => settings[name] !== undefined).map((name) => [name, settings[name]]),
  );
}
