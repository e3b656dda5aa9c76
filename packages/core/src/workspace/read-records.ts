import type { ToolThreadState } from "../tool/tool.ts";

const TYPE = "workspace-reads";
const MAX_RECORDS = 1000;

type Records = Record<string, string>;

/**
 * Which files a thread has read, and what they contained then. The records are thread state, so they hold in later runs
 * and in other processes. Without a thread they last as long as this object.
 */
export class ReadRecords {
  readonly #workspaceId: string;
  readonly #local = new Map<string, string>();

  constructor(workspaceId: string) {
    this.#workspaceId = workspaceId;
  }

  /** The SHA-256 that a file had when it was read, or `undefined`. */
  async get(state: ToolThreadState | undefined, path: string): Promise<string | undefined> {
    if (!state) return this.#local.get(path);
    return ((await state.get(TYPE)) as Records | undefined)?.[this.#key(path)];
  }

  async set(state: ToolThreadState | undefined, path: string, hash: string | undefined): Promise<void> {
    if (!state) {
      if (hash === undefined) this.#local.delete(path);
      else this.#local.set(path, hash);
      return;
    }
    const key = this.#key(path);
    if (((await state.get(TYPE)) as Records | undefined)?.[key] === hash) return;
    await state.update(TYPE, (value) => {
      const { [key]: _, ...others } = (value ?? {}) as Records;
      const records = hash === undefined ? others : { ...others, [key]: hash };
      return Object.fromEntries(Object.entries(records).slice(-MAX_RECORDS));
    });
  }

  #key(path: string): string {
    return `${this.#workspaceId}:${path}`;
  }
}
