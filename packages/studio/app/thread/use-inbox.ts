import type { NumberedChunk, WireNotification } from "@selvedge/protocol/routes";
import { useCallback, useRef } from "react";
import { useStudio } from "../studio-context.tsx";
import { useLoad } from "../use-load.ts";

const SHOWN = 50;
const TELLING: ReadonlySet<string> = new Set(["data-signal", "finish", "tool-result"]);

export interface Inbox {
  notifications: readonly WireNotification[];
  error: Error | undefined;
  reload(): void;
  /** For the reader of the thread's stream: the inbox may look different after this chunk. */
  noticeChunk(chunk: NumberedChunk): void;
  act(notificationId: string, action: "markSeen" | "dismiss" | "archive"): Promise<void>;
}

/** The notification records of a thread. */
export function useInbox(threadId: string, agentId: string, isNew: boolean): Inbox {
  const { client, resourceId } = useStudio();
  const exists = useRef(!isNew);
  const {
    value,
    error,
    reload: load,
  } = useLoad(`${resourceId} ${threadId}`, async (signal) => {
    if (!exists.current) return [];
    try {
      const query = { resourceId, agentId, limit: SHOWN };
      return (await client.call("listNotifications", { params: { threadId }, query, signal })).notifications;
    } catch (failure) {
      // A thread without a message does not exist yet, and has an empty inbox.
      if ((failure as { code?: string }).code === "not-found") return [];
      throw failure;
    }
  });
  const reload = useCallback(() => {
    exists.current = true;
    load();
  }, [load]);
  const noticeChunk = useCallback(
    (chunk: NumberedChunk) => {
      if (TELLING.has(chunk.type)) reload();
    },
    [reload],
  );
  const act = useCallback(
    async (notificationId: string, action: "markSeen" | "dismiss" | "archive") => {
      const params = { threadId, notificationId };
      await client.call("updateNotification", {
        params,
        query: { resourceId, agentId },
        body: { action, resourceId },
      });
      reload();
    },
    [client, threadId, resourceId, agentId, reload],
  );
  return { notifications: value ?? [], error, reload, noticeChunk, act };
}
