import { isMemoryChunk } from "@selvedge/protocol";
import type { NumberedChunk, ObservationalMemoryView } from "@selvedge/protocol/routes";
import { useCallback, useState } from "react";
import { useStudio } from "../studio-context.tsx";
import { useLoad } from "../use-load.ts";

export interface ThreadMemory {
  threadId: string;
  agentId: string | undefined;
  /** `null` if it is off; `undefined` until it is known. */
  view: ObservationalMemoryView | null | undefined;
  error: Error | undefined;
  observe(): Promise<void>;
  retry(): Promise<void>;
  forget(): Promise<void>;
}

/** The observational memory of a thread. It is read again whenever `version` changes. */
export function useMemory(
  threadId: string | undefined,
  agentId: string | undefined,
  version: unknown,
): ThreadMemory {
  const { client, resourceId } = useStudio();
  const query = { resourceId, ...(agentId !== undefined && { agentId }) };
  const { value, error, reload } = useLoad(
    `${resourceId} ${threadId}`,
    async (signal) => {
      if (threadId === undefined) return undefined;
      try {
        return (await client.call("inspectObservationalMemory", { params: { threadId }, query, signal }))
          .view;
      } catch (failure) {
        // A thread without a message does not exist yet.
        if ((failure as { code?: string }).code === "not-found") return undefined;
        throw failure;
      }
    },
    version,
  );
  const params = { threadId: threadId ?? "" };
  const work = async (action: "observe" | "retry"): Promise<void> => {
    await client.call("workOnObservationalMemory", { params, query, body: { resourceId, action } });
    reload();
  };
  return {
    threadId: threadId ?? "",
    agentId,
    view: value,
    error,
    observe: () => work("observe"),
    retry: () => work("retry"),
    forget: async () => {
      await client.call("forgetObservationalMemory", { params, query });
      reload();
    },
  };
}

/** A number that changes with every chunk about the memory, and the reader that counts them. */
export function useMemoryVersion(): [version: number, notice: (chunk: NumberedChunk) => void] {
  const [version, setVersion] = useState(0);
  const notice = useCallback((chunk: NumberedChunk) => {
    if (isMemoryChunk(chunk)) setVersion((count) => count + 1);
  }, []);
  return [version, notice];
}
