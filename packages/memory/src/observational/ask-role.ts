import type { System } from "@selvedge/core/memory";
import { askModelWithUsage, type ModelAnswer, type ModelConfig } from "@selvedge/core/model";
import type { OmRoleConfig } from "./om-config.ts";
import type { RoleRequest } from "./role-prompts.ts";

/** The work runs in the background, but must end. */
const LIMITS = { firstChunkMs: 120_000, totalMs: 600_000 };

/** One answer of the observer or reflector. Retries are up to the job, because they must survive this process. */
export function askRole(
  model: ModelConfig,
  request: RoleRequest,
  role: Pick<OmRoleConfig, "modelSettings" | "providerOptions">,
  { system, abortSignal, schema }: { system: System; abortSignal: AbortSignal; schema?: object | undefined },
): Promise<ModelAnswer> {
  return askModelWithUsage(model, {
    ...request,
    ...role.modelSettings,
    ...(role.providerOptions && { providerOptions: role.providerOptions }),
    ...(schema && { responseFormat: { type: "json" as const, schema: schema as never } }),
    maxRetries: 0,
    limits: LIMITS,
    clock: system,
    abortSignal,
  });
}
