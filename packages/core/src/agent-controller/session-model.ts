import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { describeThread } from "../storage/message-writes.ts";
import type { SessionCore } from "./session-core.ts";
import { requireMode } from "./session-mode.ts";
import { settingChange } from "./session-settings.ts";
import { modeModelKey, settingsOf } from "./thread-settings.ts";

/** The model of a session. */
export class SessionModel {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  /** The id of the model; empty if none was chosen. */
  get(): string {
    return this.#core.row.modelId;
  }

  displayName(): string {
    return this.get().split("/").at(-1) || "unknown";
  }

  hasSelection(): boolean {
    return this.get() !== "";
  }

  /** From the next run on. For another mode, it applies when the session enters that mode. */
  async switch(options: { modelId: string; scope?: "thread" | "global"; modeId?: string }): Promise<void> {
    const { config, logger } = this.#core.host;
    const modelId = checkId("modelId", options?.modelId);
    const { scope = "thread" } = options;
    if (scope !== "thread" && scope !== "global")
      throw new AgentError(
        "invalid-argument",
        `scope must be "thread" or "global", got ${showValue(scope)}.`,
      );
    const mode = options.modeId === undefined ? undefined : requireMode(config, options.modeId);
    await this.#core.ready();
    if (scope === "global") this.#core.willSelect(modelId);
    await this.#core
      .change(async (row) => {
        const isStored = row.threadId !== undefined && scope !== "global";
        if (mode && mode.id !== row.modeId) {
          const { patch, also } = settingChange(row, modeModelKey(mode.id), modelId);
          return { patch, also: isStored ? also : [] };
        }
        return {
          patch: { modelId },
          also: isStored ? describeThread(row.threadId!, { metadata: settingsOf({ ...row, modelId }) }) : [],
        };
      })
      .finally(() => this.#core.willSelect(undefined));
    try {
      config.modelUseCountTracker?.(modelId);
    } catch (error) {
      logger.debug("modelUseCountTracker failed", error);
    }
  }
}
