import type { QueuedMessage, SignalContents } from "@selvedge/protocol/routes";
import type { AgentControllerMessageContent } from "@selvedge/protocol/session";
import type { UseAgentControllerResult } from "@selvedge/react";
import { createElement, useMemo, useRef } from "react";
import { MessageGroups } from "../thread/message-groups.tsx";
import type { Approval, InSession, Thread } from "../thread/thread.ts";
import { fromSent, toThreadMessage } from "./to-thread-message.ts";

type Live = UseAgentControllerResult;
type PendingApproval = NonNullable<Live["display"]["pendingApproval"]>;
type PendingSuspension = Live["display"]["pendingSuspensions"] extends Map<string, infer Call> ? Call : never;

/** The thread that a session is on, with all that can be done there through the session. */
export function useSessionThread(live: Live): Thread {
  const approvals = useSame(toApprovals(live.display));
  const { session, send, followUp, loadEarlier } = live;
  const actions = useMemo(() => {
    const say = async (how: Live["send"], contents: SignalContents): ReturnType<Thread["sendMessage"]> =>
      (await how(toWords(contents))) as never;
    const answer = (toolCallId: string, resumeData: unknown): Promise<unknown> =>
      session.suspensions.has({ toolCallId })
        ? session.respondToToolSuspension({ toolCallId, resumeData })
        : session.respondToToolApproval({ toolCallId, decision: "approve" });
    return {
      sendMessage: (contents: SignalContents) => say(send, contents),
      queueMessage: (contents: SignalContents) => say(followUp, contents),
      editQueued: (id: string, contents: SignalContents) =>
        session.followUps.edit({ id, ...toWords(contents) }),
      removeQueued: (id: string) => session.followUps.remove({ id }),
      abort: () => session.abort(),
      approve: async (toolCallId: string, resumeData?: unknown) =>
        void (await answer(toolCallId, resumeData)),
      decline: async (toolCallId: string, reason?: string) =>
        void (await session.respondToToolApproval({
          toolCallId,
          decision: "decline",
          ...(reason !== undefined && { declineContext: { reason } }),
        })),
      loadEarlier,
      refresh: async () => {},
    };
  }, [session, send, followUp, loadEarlier]);
  const own = useMemo(
    () => ({
      steerQueued: (id: string) => session.followUps.steer(id),
      moveQueued: (id: string, to: number) => session.followUps.move({ id, to }),
      alwaysAllow: async (toolCallId: string) =>
        void (await session.respondToToolApproval({ toolCallId, decision: "always_allow_category" })),
      subagentMessages: async (toolCallId: string) =>
        (await session.thread.listSubagentMessages({ toolCallId })).map((message) => {
          const row = toThreadMessage(message, false);
          return row.role === "user" ? { ...row, attributes: { name: "Task" } } : row;
        }),
      showMessages: (messages: Thread["messages"], agentName: string) =>
        createElement(MessageGroups, { messages, agentName }),
    }),
    [session],
  );
  return useMemo(() => toThread(live, approvals, actions, own), [live, approvals, actions, own]);
}

type Actions = Omit<
  Thread,
  "status" | "connection" | "messages" | "hasMore" | "queue" | "lanes" | "approvals" | "inSession"
>;

function toThread(
  live: Live,
  approvals: readonly Approval[],
  actions: Actions,
  own: Omit<InSession, "subagents" | "calls">,
): Thread {
  const { status, error, display, messages, sent, hasMore, followUps } = live;
  const state = approvals.length > 0 ? "suspended" : display.isRunning ? "running" : undefined;
  const current = display.isRunning ? display.currentMessage?.id : undefined;
  const isUp = status === "ready" || status === "reconnecting";
  return {
    ...actions,
    status: isUp ? "ready" : status === "failed" ? "error" : "loading",
    connection: status === "ready" ? "live" : status === "reconnecting" ? "reconnecting" : "connecting",
    ...(error && (isUp ? { runError: error } : { error })),
    messages: [
      ...messages.filter(isShown).map((message) => toThreadMessage(message, message.id === current)),
      ...sent.map(fromSent),
    ],
    hasMore,
    ...(state && { run: { runId: "", state } }),
    queue: followUps.map(toQueued),
    lanes: [],
    approvals,
    inSession: { ...own, subagents: display.activeSubagents, calls: display.activeTools },
  };
}

/** The list of tasks is beside the conversation. */
function isShown({ role, content: [first] }: Live["messages"][number]): boolean {
  return role !== "system" || first?.type !== "state_signal" || first.stateId !== "tasks";
}

const asked = new WeakMap<PendingApproval | PendingSuspension, Approval>();

function toApprovals({ pendingApprovals, pendingSuspensions }: Live["display"]): Approval[] {
  const waiting = [...pendingApprovals.values(), ...pendingSuspensions.values()];
  return waiting.map((call) => {
    const before = asked.get(call);
    if (before) return before;
    const { toolCallId, toolName, args, parentToolCallId } = call;
    const about = { toolCallId, toolName, args, ...(parentToolCallId !== undefined && { parentToolCallId }) };
    const made: Approval =
      "suspendPayload" in call
        ? { ...about, requiresApproval: false, suspendPayload: call.suspendPayload }
        : { ...about, requiresApproval: true, ...(call.reason !== undefined && { reason: call.reason }) };
    asked.set(call, made);
    return made;
  });
}

/** The list before, as long as it has the same members: who only reads that is not drawn again. */
function useSame<Item>(list: readonly Item[]): readonly Item[] {
  const last = useRef(list);
  const isSame =
    last.current.length === list.length && list.every((item, index) => item === last.current[index]);
  if (!isSame) last.current = list;
  return last.current;
}

function toQueued({ id, content, createdAt }: Live["followUps"][number]): QueuedMessage {
  const signal = {
    id,
    type: "user",
    tagName: "user",
    contents: toContents(content),
    createdAt: createdAt.toISOString(),
  } as const;
  return { id, agentId: "", due: "next", runId: "", signal };
}

function toContents(content: readonly AgentControllerMessageContent[]): SignalContents {
  const [first] = content;
  if (content.length === 1 && first?.type === "text") return first.text;
  return content.flatMap((part): Exclude<SignalContents, string> => {
    if (part.type === "text") return [{ type: "text", text: part.text }];
    if (part.type === "image") return [{ type: "file", data: part.data, mediaType: part.mimeType }];
    if (part.type !== "file") return [];
    const { data, mediaType, filename } = part;
    return [{ type: "file", data, mediaType, ...(filename !== undefined && { filename }) }];
  });
}

/** The words and the files of a message. */
function toWords(contents: SignalContents): {
  content: string;
  files?: { data: string; mediaType: string; filename?: string }[];
} {
  if (typeof contents === "string") return { content: contents };
  const content = contents.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  const files = contents.flatMap((part) =>
    part.type === "file"
      ? [
          {
            data: part.data,
            mediaType: part.mediaType,
            ...(part.filename !== undefined && { filename: part.filename }),
          },
        ]
      : [],
  );
  return { content, ...(files.length > 0 && { files }) };
}
