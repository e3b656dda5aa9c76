import type { ClientSession, MastraClient } from "@selvedge/client-js";
import { useMemo, useSyncExternalStore } from "react";
import { useMastraClient } from "./mastra-react-provider.ts";
import { type SessionSnapshot, SessionStore, type SessionStoreOptions } from "./session-store.ts";
import { useLatest } from "./use-latest.ts";

export interface UseAgentControllerOptions extends SessionStoreOptions {
  /** Replaces the provider's client. */
  client?: MastraClient;
}

/** A session's state, and the session itself for every action. */
export interface UseAgentControllerResult
  extends SessionSnapshot, Pick<SessionStore, "send" | "followUp" | "loadEarlier"> {
  session: ClientSession;
}

/** A controller's session, live: its messages, mode, model, questions and display. */
export function useAgentController(options: UseAgentControllerOptions): UseAgentControllerResult {
  const client = useMastraClient(options.client);
  const { controllerId, sessionId, resourceId } = options;
  const latest = useLatest(options);
  const store = useMemo(() => {
    const { tags, reconnect } = latest.current;
    return new SessionStore(client, {
      controllerId,
      ...(sessionId !== undefined && { sessionId }),
      ...(resourceId !== undefined && { resourceId }),
      ...(tags && { tags }),
      ...(reconnect && { reconnect }),
      onEvent: (event) => latest.current.onEvent?.(event),
    });
  }, [client, controllerId, sessionId, resourceId, latest]);
  const snapshot = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const actions = useMemo(
    () => ({
      send: store.send.bind(store),
      followUp: store.followUp.bind(store),
      loadEarlier: store.loadEarlier.bind(store),
    }),
    [store],
  );
  return useMemo(() => ({ ...snapshot, ...actions, session: store.session }), [snapshot, actions, store]);
}
