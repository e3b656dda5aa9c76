import { type ThreadMessage, useThread } from "@selvedge/react";
import { createElement as h, type ReactNode } from "react";

/** A live thread. Every component on the same thread shows the same messages. */
export function Chat({ threadId }: { threadId: string }): ReactNode {
  const thread = useThread({ agentId: "weaver", threadId });
  if (thread.status === "loading") return "…";
  return h("main", null, [
    ...thread.messages.map((message) => h("p", { key: message.id }, `${message.role}: ${textOf(message)}`)),
    ...thread.queue.map(({ id, signal }) =>
      h(
        "button",
        { key: id, onClick: () => thread.removeQueued(id) },
        `Take back ${JSON.stringify(signal.contents)}`,
      ),
    ),
    ...thread.approvals.map(({ toolCallId, toolName }) =>
      h("button", { key: toolCallId, onClick: () => thread.approve(toolCallId) }, `Allow ${toolName}`),
    ),
    h("button", { key: "send", onClick: () => thread.sendMessage("Hello!") }, "Send"),
    thread.run && h("button", { key: "stop", onClick: () => thread.abort() }, "Stop"),
  ]);
}

function textOf({ parts }: ThreadMessage): string {
  return parts.map((part) => (part.type === "text" ? part.text : "")).join("");
}
