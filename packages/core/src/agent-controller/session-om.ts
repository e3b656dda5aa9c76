import { checkId } from "../storage/check-id.ts";
import { OM_DOMAIN } from "../storage/om-domain.ts";
import type { ObservationalMemoryRecord } from "../storage/om-record.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerOMConfig } from "./config.ts";
import { OM_KEYS } from "./om-keys.ts";
import { modelOf } from "./run-profile.ts";
import type { SessionCore } from "./session-core.ts";
import { changeSetting, settingOf } from "./session-settings.ts";

/** The models and limits of observational memory: of the thread, else of the controller. */
export class SessionOM {
  readonly observer: OMRole;
  readonly reflector: OMRole;
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
    this.observer = new OMRole(core, "observer");
    this.reflector = new OMRole(core, "reflector");
  }

  /** The record of the session's thread; `null` without a thread, or if nothing was observed. */
  async record(): Promise<ObservationalMemoryRecord | null> {
    const { host, row } = this.#core;
    if (row.threadId === undefined) return null;
    const domain = await host.storage.domain(OM_DOMAIN);
    return domain.getObservationalMemory(row.threadId, row.resourceId);
  }
}

class OMRole {
  readonly #core: SessionCore;
  readonly #role: "observer" | "reflector";

  constructor(core: SessionCore, role: "observer" | "reflector") {
    this.#core = core;
    this.#role = role;
  }

  modelId(): string | null {
    const { config, ids } = this.#names;
    const own = settingOf(this.#core.row, ids.model);
    return typeof own === "string" ? own : (config[ids.defaultModel] ?? null);
  }

  /** The session's own, else the memory's if it is given, else the controller's. */
  threshold(ofMemory?: number): number | null {
    const { config, ids } = this.#names;
    const own = settingOf(this.#core.row, ids.threshold);
    return typeof own === "number" ? own : (ofMemory ?? config[ids.defaultThreshold] ?? null);
  }

  resolvedModel(): ReturnType<typeof modelOf> {
    return modelOf(this.#core.host.config, this.modelId() ?? "");
  }

  async switchModel(options: { modelId: string }): Promise<void> {
    const { modelId } = checkOptions("switchModel", options);
    await changeSetting(this.#core, OM_KEYS[this.#role].model, checkId("modelId", modelId));
  }

  get #names(): { config: AgentControllerOMConfig; ids: (typeof OM_KEYS)["observer" | "reflector"] } {
    return { config: this.#core.host.config.omConfig ?? {}, ids: OM_KEYS[this.#role] };
  }
}
