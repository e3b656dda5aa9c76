import { AgentError, showValue } from "../errors.ts";
import { describeThread } from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import { known } from "./check-config.ts";
import { checkOptions } from "./check-options.ts";
import type { AgentControllerConfig, AgentControllerMode } from "./config.ts";
import type { SessionCore } from "./session-core.ts";
import type { SessionPatch, StoredSession } from "./session-domain.ts";
import { modeModelKey, modelIn, settingsOf } from "./thread-settings.ts";

/** The mode of a session. */
export class SessionMode {
  readonly #core: SessionCore;

  constructor(core: SessionCore) {
    this.#core = core;
  }

  get(): string {
    return this.#core.row.modeId;
  }

  resolve(): AgentControllerMode {
    return requireMode(this.#core.host.config, this.get());
  }

  /** Applies from the next run on. The active run keeps its mode. */
  async switch(options: { modeId: string }): Promise<void> {
    const mode = requireMode(this.#core.host.config, checkOptions("mode.switch", options).modeId);
    await this.#core.ready();
    await this.#core.change(async (row) => {
      if (row.modeId === mode.id) return undefined;
      return modeChange(this.#core, row, mode);
    });
  }
}

/** Everything that changes when a session enters a mode: the row, and its thread's metadata. */
export async function modeChange(
  core: SessionCore,
  row: StoredSession,
  mode: AgentControllerMode,
): Promise<{ patch: SessionPatch; also: Write[] }> {
  const { threadId } = row;
  const memory = await core.host.memory();
  const thread = threadId === undefined ? null : await memory.getThreadById({ threadId });
  const modelId = modelIn(thread?.metadata ?? {}, mode) || row.modelId;
  const patch = { modeId: mode.id, modelId };
  const left = row.modelId === "" ? {} : { [modeModelKey(row.modeId)]: row.modelId };
  return {
    patch,
    also:
      threadId === undefined
        ? []
        : describeThread(threadId, { metadata: { ...left, ...settingsOf({ ...row, ...patch }) } }),
  };
}

export function requireMode(config: AgentControllerConfig, modeId: string): AgentControllerMode {
  const mode = config.modes.find(({ id }) => id === modeId);
  if (mode) return mode;
  throw new AgentError(
    "not-found",
    `There is no mode ${showValue(modeId)}. ${known(config.modes.map(({ id }) => id))}`,
  );
}
