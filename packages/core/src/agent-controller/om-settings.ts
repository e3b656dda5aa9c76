import { resolveDynamic } from "../agent/dynamic.ts";
import { AgentError } from "../errors.ts";
import type { MemoryAgent, OmRoleSettings } from "../memory/memory.ts";
import type { ModelConfig } from "../model/model.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { openTelemetry } from "../telemetry/telemetry.ts";
import type { ControllerHost } from "./controller-host.ts";
import { OM_KEYS } from "./om-keys.ts";
import { idsOf, modelOf, modeOf } from "./run-profile.ts";
import { settingOf } from "./session-settings.ts";

/** A controller's agent as its memories see it, with the models and settings of each thread. */
export function omAgent(
  host: Pick<ControllerHost, "config" | "storage" | "rows">,
  own: MemoryAgent,
): MemoryAgent {
  const { config, storage, rows } = host;
  const at = (threadId: string): ReturnType<typeof idsOf> =>
    idsOf(
      { config, storage, session: async (id) => (await rows.find(id)) ?? undefined },
      { threadId, pinned: undefined },
    );
  return {
    id: own.id,
    get threads() {
      return own.threads;
    },
    async model(threadId) {
      const { ids } = await at(threadId);
      const model = modelOf(config, ids.modelId);
      if (model !== undefined) return model;
      const usual = (modeOf(config, ids.modeId).agent ?? config.agent)?.configuration.model;
      if (usual === undefined)
        throw new AgentError(
          "invalid-argument",
          `Mode "${ids.modeId}" of controller "${config.id}" has no model. Set its defaultModelId, or omConfig.`,
        );
      const requestContext = new RequestContext();
      return resolveDynamic(usual, { requestContext, runtimeContext: requestContext });
    },
    async telemetry() {
      const { defaultOptions } = config.agent?.configuration ?? {};
      const requestContext = new RequestContext();
      const context = { requestContext, runtimeContext: requestContext };
      return openTelemetry(defaultOptions && (await resolveDynamic(defaultOptions, context)).telemetry);
    },
    async omSettings(threadId) {
      const { session, metadata } = await at(threadId);
      const isThere = session?.threadId === threadId;
      const role = (name: keyof typeof OM_KEYS): OmRoleSettings => {
        const keys = OM_KEYS[name];
        const chosen = (key: string): unknown => (isThere ? settingOf(session, key) : metadata[key]);
        const { omConfig = {} } = config;
        const setting = (model: unknown, threshold: unknown): OmRoleSettings["chosen"] => ({
          model: () => (typeof model === "string" ? modelOf(config, model) : undefined),
          threshold: Number.isSafeInteger(threshold) && Number(threshold) > 0 ? Number(threshold) : undefined,
        });
        return {
          chosen: setting(chosen(keys.model), chosen(keys.threshold)),
          usual: setting(omConfig[keys.defaultModel], omConfig[keys.defaultThreshold]),
        };
      };
      const resolveModel = (modelId: string): ModelConfig => modelOf(config, modelId) ?? modelId;
      return { resolveModel, observation: role("observer"), reflection: role("reflector") };
    },
  };
}
