import { AgentError, type LocalTools, type MastraClient, type WireChunk } from "@selvedge/client-js";
import type {
  Attributes,
  NumberedChunk,
  RunOptions,
  SignalContents,
  WireSignal,
} from "@selvedge/protocol/routes";
import { useCallback, useMemo, useState, useSyncExternalStore } from "react";
import { ChatStore } from "./chat-store.ts";
import { isMissingRoute } from "./is-missing-route.ts";
import { useMastraClient } from "./mastra-react-provider.ts";
import type { ThreadMessage } from "./thread-message.ts";
import type { Approval } from "./approval.ts";
import type { ThreadSnapshot } from "./thread-model.ts";
import { ThreadStore } from "./thread-store.ts";
import { useLatest, useStableTools } from "./use-latest.ts";

export interface UseChatOptions {
  agentId: string;
  resourceId?: string;
  /** The thread that stores the chat. */
  threadId?: string;
  /** Shown first. With `enableThreadSignals`, the thread's own messages replace them. */
  initialMessages?: readonly ThreadMessage[];
  requestContext?: Record<string, unknown>;
  /** Tools that run in this page. */
  clientTools?: LocalTools;
  /** Follows the thread live and sends into the active run. Needs `threadId`. */
  enableThreadSignals?: boolean;
  /** Called when a message was accepted. */
  onSignalSent?: (signal: WireSignal) => void;
  /** Called when a message, of this client or another, has its position on the thread. */
  onSignalEcho?: (signal: WireSignal) => void;
  /** Called when the server or agent does not support thread signals; the chat continues with single calls. */
  onThreadSignalsUnsupported?: (error: Error) => void;
  /** Replaces the provider's client. */
  client?: MastraClient;
}

export interface ChatMessageInput extends Pick<RunOptions, "maxSteps" | "modelSettings" | "toolChoice"> {
  message: SignalContents;
  attributes?: Attributes;
  requestContext?: Record<string, unknown>;
  onChunk?: (chunk: WireChunk) => void;
}

export type ToolCallStatus = "pending" | "approved" | "declined";

export interface UseChatResult {
  messages: readonly ThreadMessage[];
  setMessages(messages: readonly ThreadMessage[]): void;
  /** Resolves when the message was accepted on a live thread, otherwise when its answer is complete. */
  sendMessage(input: SignalContents | ChatMessageInput): Promise<void>;
  isRunning: boolean;
  isAwaitingToolApproval: boolean;
  /** The value of the thread's lane `tasks`, if there is one. */
  tasks: readonly unknown[];
  approveToolCall(toolCallId: string, resumeData?: unknown): Promise<void>;
  declineToolCall(toolCallId: string, reason?: string): Promise<void>;
  cancelRun(): Promise<void>;
  /** Decisions on approvals, by call id. */
  toolCallApprovals: Readonly<Record<string, { status: ToolCallStatus }>>;
  /** Why the last run failed or could not be followed. */
  error: Error | undefined;
}

const NO_LISTENER = () => () => {};
const NO_SNAPSHOT = () => undefined;

/** A chat with an agent: single calls, or a live thread with `enableThreadSignals`. */
export function useChat(options: UseChatOptions): UseChatResult {
  const client = useMastraClient(options.client);
  const { agentId, threadId, resourceId } = options;
  const latest = useLatest(options);
  const clientTools = useStableTools(options.clientTools);
  const [unsupported, setUnsupported] = useState<ThreadStore>();
  const [decided, setDecided] = useState<Record<string, "approved" | "declined">>({});

  const where = useMemo(
    () => ({
      agentId,
      ...(resourceId !== undefined && { resourceId }),
      ...(clientTools && { clientTools }),
    }),
    [agentId, resourceId, clientTools],
  );
  const isLive = options.enableThreadSignals === true && threadId !== undefined;
  const thread = useMemo(
    () =>
      isLive
        ? new ThreadStore(client, {
            ...where,
            threadId,
            initialMessages: latest.current.initialMessages ?? [],
            onChunk: (chunk) => {
              if (isEcho(chunk)) latest.current.onSignalEcho?.(chunk.data as WireSignal);
            },
          })
        : undefined,
    [client, where, threadId, isLive, latest],
  );
  const chat = useMemo(
    () =>
      new ChatStore(client, {
        ...where,
        ...(threadId !== undefined && { threadId }),
        initialMessages: latest.current.initialMessages ?? [],
      }),
    [client, where, threadId, latest],
  );
  const live = thread === unsupported ? undefined : thread;
  const shown = useSyncExternalStore<ThreadSnapshot | undefined>(
    live?.subscribe ?? NO_LISTENER,
    live?.getSnapshot ?? NO_SNAPSHOT,
    live?.getSnapshot ?? NO_SNAPSHOT,
  );
  const single = useSyncExternalStore(chat.subscribe, chat.getSnapshot, chat.getSnapshot);

  const sendMessage = useCallback(
    async (given: SignalContents | ChatMessageInput) => {
      const isPlain = typeof given === "string" || Array.isArray(given);
      const { message, attributes, onChunk, ...rest }: ChatMessageInput = isPlain
        ? { message: given }
        : given;
      const requestContext = rest.requestContext ?? latest.current.requestContext;
      const runOptions = { ...rest, ...(requestContext && { requestContext }) };
      if (live) {
        try {
          const ifIdle = Object.keys(runOptions).length > 0 ? { ifIdle: { streamOptions: runOptions } } : {};
          const sent = await live.sendMessage(message, { ...(attributes && { attributes }), ...ifIdle });
          latest.current.onSignalSent?.(sent.signal);
          return;
        } catch (error) {
          if (!isUnsupported(error)) throw error;
          latest.current.onThreadSignalsUnsupported?.(error);
          // What the thread showed stays; messages that could not be sent are sent again.
          chat.setMessages(live.getSnapshot().messages.filter(({ state }) => state !== "failed"));
          setUnsupported(live);
        }
      }
      await chat.sendMessage(message, { ...runOptions, ...(onChunk && { onChunk }) });
    },
    [live, chat, latest],
  );
  const actions = useMemo(() => {
    const store = live ?? chat;
    const decide = async (toolCallId: string, status: "approved" | "declined", act: Promise<void>) => {
      const set = (value: typeof status | undefined) =>
        setDecided(({ [toolCallId]: _, ...others }) =>
          value === undefined ? others : { ...others, [toolCallId]: value },
        );
      set(status);
      try {
        await act;
      } catch (error) {
        set(undefined);
        throw error;
      }
    };
    return {
      setMessages: (messages: readonly ThreadMessage[]) => store.setMessages(messages),
      approveToolCall: (toolCallId: string, resumeData?: unknown) =>
        decide(toolCallId, "approved", store.approve(toolCallId, resumeData)),
      declineToolCall: (toolCallId: string, reason?: string) =>
        decide(toolCallId, "declined", store.decline(toolCallId, reason)),
      cancelRun: async () => {
        await store.abort();
      },
    };
  }, [live, chat]);

  const { messages, approvals, runError } = shown ?? single;
  return useMemo(
    () => ({
      ...actions,
      messages,
      sendMessage,
      isRunning: shown ? shown.run?.state === "running" : single.isRunning,
      isAwaitingToolApproval: approvals.length > 0,
      tasks: tasksOf(shown),
      toolCallApprovals: statusOf(approvals, decided),
      error: shown?.error ?? runError,
    }),
    [actions, messages, sendMessage, shown, single, approvals, runError, decided],
  );
}

function isEcho(chunk: NumberedChunk): chunk is NumberedChunk & { data: unknown } {
  return chunk.type === "data-user-message";
}

/** Whether the server lacks these routes, or the agent has no memory for threads. */
function isUnsupported(error: unknown): error is AgentError {
  return (
    isMissingRoute(error) ||
    AgentError.is(error, "memory-required") ||
    AgentError.is(error, "storage-required")
  );
}

function tasksOf(snapshot: ThreadSnapshot | undefined): readonly unknown[] {
  const value = snapshot?.lanes.find(({ id }) => id === "tasks")?.value;
  const tasks = (value as { tasks?: unknown } | undefined)?.tasks ?? value;
  return Array.isArray(tasks) ? tasks : [];
}

function statusOf(
  approvals: readonly Approval[],
  decided: Readonly<Record<string, "approved" | "declined">>,
): Record<string, { status: ToolCallStatus }> {
  const pending = approvals.map(({ toolCallId }) => [toolCallId, { status: "pending" as ToolCallStatus }]);
  const settled = Object.entries(decided).map(([id, status]) => [id, { status }]);
  return Object.fromEntries([...pending, ...settled]) as Record<string, { status: ToolCallStatus }>;
}
