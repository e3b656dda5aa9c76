import type { ToolThreadState } from "../tool/tool.ts";
import type { RunSpec } from "./run.ts";

/**
 * Named values of a run's thread; `undefined` if the run is not stored. With `runId`, they can be changed only while that
 * run is active.
 */
export function threadStateOf(
  { storage, threadId, journal }: RunSpec,
  runId?: string,
): ToolThreadState | undefined {
  if (!storage || threadId === undefined || !journal) return undefined;
  const domain = async () => (await storage.getStore("threadState"))!;
  return {
    get: async (type) => (await (await domain()).getState({ threadId, type }))?.value,
    domain: (of) => storage.domain(of),
    update: async (type, change) =>
      (await (await domain()).updateState({ threadId, type, ...(runId !== undefined && { runId }) }, change))
        .value,
  };
}
