import type { MastraClient } from "@selvedge/client-js";
import { useMemo, useSyncExternalStore } from "react";
import { useMastraClient } from "./mastra-react-provider.ts";
import { useLatest } from "./use-latest.ts";
import {
  type WorkflowRunStoreOptions,
  type WorkflowRunView,
  WorkflowRunStore,
} from "./workflow-run-store.ts";

export interface UseWorkflowRunOptions extends WorkflowRunStoreOptions {
  /** Replaces the provider's client. */
  client?: MastraClient;
}

type Actions = "resume" | "cancel" | "timeTravel" | "restart" | "refresh";

/** A live run's state and actions. */
export interface UseWorkflowRunResult extends WorkflowRunView, Pick<WorkflowRunStore, Actions> {}

/** A workflow run, live: its status and steps, the steps that wait for a person, and what a person can do. */
export function useWorkflowRun(options: UseWorkflowRunOptions): UseWorkflowRunResult {
  const client = useMastraClient(options.client);
  const { workflowId, runId } = options;
  const latest = useLatest(options);
  const { store, actions } = useMemo(() => {
    const { reconnect } = latest.current;
    const made = new WorkflowRunStore(client, {
      workflowId,
      runId,
      ...(reconnect && { reconnect }),
      onChunk: (chunk) => latest.current.onChunk?.(chunk),
    });
    return { store: made, actions: actionsOf(made) };
  }, [client, workflowId, runId, latest]);
  const view = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  return useMemo(() => ({ ...view, ...actions }), [view, actions]);
}

/** Functions that stay the same while the run does. */
function actionsOf(store: WorkflowRunStore): Pick<WorkflowRunStore, Actions> {
  return {
    resume: (options) => store.resume(options),
    cancel: () => store.cancel(),
    timeTravel: (options) => store.timeTravel(options),
    restart: () => store.restart(),
    refresh: () => store.refresh(),
  };
}
