import { AgentError, showValue } from "../errors.ts";
import type { Processor } from "../processor/processor.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
import { isSignalProvider, type SignalProvider } from "./signal-provider.ts";

/** The signal providers of one agent. */
export class SignalProviders {
  readonly #own: SignalProvider[] = [];

  constructor(
    providers: readonly SignalProvider[] | undefined,
    agent: Agent<any, any>,
    environment: AgentEnvironment,
  ) {
    for (const provider of check(providers)) {
      if (provider.isConnected) {
        environment.logger.warn(
          `Signal provider "${provider.id}" already belongs to another agent and keeps notifying that one. Create one provider per agent.`,
        );
        continue;
      }
      this.#own.push(provider);
      provider.connect(agent, { system: environment.system, logger: environment.logger });
      provider.startPolling();
      environment.waitUntil(Promise.resolve().then(() => provider.start?.()));
    }
  }

  useHost(host: unknown): void {
    for (const provider of this.#own) provider.useHost?.(host);
  }

  stop(): void {
    for (const provider of this.#own) provider.stop();
  }
}

/** What providers bring to a run. */
export function partsOf(providers: readonly SignalProvider[] = []): {
  inputProcessors: Processor[];
  outputProcessors: Processor[];
  tools: ToolsInput;
} {
  return {
    inputProcessors: providers.flatMap((one) => one.getInputProcessors?.() ?? []),
    outputProcessors: providers.flatMap((one) => one.getOutputProcessors?.() ?? []),
    tools: Object.assign({}, ...providers.map((one) => one.getTools?.())) as ToolsInput,
  };
}

function check(providers: readonly SignalProvider[] = []): readonly SignalProvider[] {
  if (Array.isArray(providers) && providers.every(isSignalProvider)) return providers;
  throw new AgentError(
    "invalid-argument",
    `signals must be an array of signal providers, got ${showValue(providers)}. Extend SignalProvider from @selvedge/core/signals.`,
  );
}
