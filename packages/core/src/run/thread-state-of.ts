import type { ToolThreadState } from "../tool/tool.ts";
import type { RunSpec } from "./run.ts";

/** Named values of a run's thread; `undefined` if the run is not stored. */
export function threadStateOf({ storage, threadId, journal }: RunSpec): ToolThreadState | undefined {
  if (!storage || threadId === undefined || !journal) return undefined;
  const domain = async () => (await storage.getStore("threadState"))!;
  return {
    get: async (type) => (await (await domain()).getState({ threadId, type }))?.value,
    domain: (of) => storage.domain(of),
    update: async (type, change) => (await (await domain()).updateState({ threadId, type }, change)).value,
  };
}
