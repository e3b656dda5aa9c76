import type { MastraClient } from "@selvedge/client-js";
import { useMemo, useSyncExternalStore } from "react";
import { useMastraClient } from "./mastra-react-provider.ts";
import { useLatest, useStableTools } from "./use-latest.ts";
import type { ThreadStoreOptions } from "./thread-door.ts";
import type { ThreadSnapshot } from "./thread-model.ts";
import { ThreadStore } from "./thread-store.ts";

export interface UseThreadOptions extends ThreadStoreOptions {
  /** Replaces the provider's client. */
  client?: MastraClient;
}

type Actions =
  | "sendMessage"
  | "queueMessage"
  | "editQueued"
  | "removeQueued"
  | "abort"
  | "approve"
  | "decline"
  | "loadEarlier"
  | "refresh";

/** A live thread's state and actions. */
export interface UseThreadResult extends ThreadSnapshot, Pick<ThreadStore, Actions> {}

/** A live thread: its messages, run, queue, lanes and approvals, and every action a person can take. */
export function useThread(options: UseThreadOptions): UseThreadResult {
  const client = useMastraClient(options.client);
  const { agentId, threadId, resourceId, perPage } = options;
  const latest = useLatest(options);
  const clientTools = useStableTools(options.clientTools);
  const { store, actions } = useMemo(() => {
    const { initialMessages, reconnect, isNew } = latest.current;
    const made = new ThreadStore(client, {
      agentId,
      threadId,
      ...(resourceId !== undefined && { resourceId }),
      ...(perPage !== undefined && { perPage }),
      ...(clientTools && { clientTools }),
      ...(initialMessages && { initialMessages }),
      ...(reconnect && { reconnect }),
      ...(isNew !== undefined && { isNew }),
      onChunk: (chunk) => latest.current.onChunk?.(chunk),
    });
    return { store: made, actions: actionsOf(made) };
  }, [client, agentId, threadId, resourceId, perPage, clientTools, latest]);
  const snapshot = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  return useMemo(() => ({ ...snapshot, ...actions }), [snapshot, actions]);
}

/** Functions that stay the same while the thread does. */
function actionsOf(store: ThreadStore): Pick<ThreadStore, Actions> {
  return {
    sendMessage: (contents, options) => store.sendMessage(contents, options),
    queueMessage: (contents, options) => store.queueMessage(contents, options),
    editQueued: (id, contents) => store.editQueued(id, contents),
    removeQueued: (id) => store.removeQueued(id),
    abort: () => store.abort(),
    approve: (toolCallId, resumeData) => store.approve(toolCallId, resumeData),
    decline: (toolCallId, reason) => store.decline(toolCallId, reason),
    loadEarlier: () => store.loadEarlier(),
    refresh: () => store.refresh(),
  };
}
