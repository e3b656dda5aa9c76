import { checkId } from "../storage/check-id.ts";
import { checkOptions } from "./check-options.ts";
import type { SessionCore } from "./session-core.ts";
import type { StoredSession } from "./session-domain.ts";
import { changeSetting, settingOf } from "./session-settings.ts";

/** The models of subagents: for a kind of them, or for all. */
export class SubagentModels {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get({ agentType }: { agentType?: string } = {}): string | null {
    return subagentModel(this.#core.row, agentType);
  }

  async set(options: { modelId: string; agentType?: string }): Promise<void> {
    const { modelId, agentType } = checkOptions("subagents.model.set", options);
    const key =
      agentType === undefined ? "subagentModelId" : `subagentModelId_${checkId("agentType", agentType)}`;
    await changeSetting(this.#core, key, checkId("modelId", modelId));
  }
}

/** The model that was set for a kind of subagent, or for all. */
export function subagentModel(row: StoredSession, agentType: string | undefined): string | null {
  const own = agentType === undefined ? undefined : settingOf(row, `subagentModelId_${agentType}`);
  const value = own ?? settingOf(row, "subagentModelId");
  return typeof value === "string" ? value : null;
}
