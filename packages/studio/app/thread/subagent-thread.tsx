import { type ReactNode, useState } from "react";
import { Icon } from "../ui/icon.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";
import { useActions } from "./actions.tsx";
import { ApprovalForm } from "./approval-form.tsx";
import type { InSession } from "./thread.ts";

/** What the subagent of a call says, does and asks, at the place of the call. */
export function SubagentThread({ toolCallId, args }: { toolCallId: string; args: unknown }): ReactNode {
  const { thread } = useActions();
  const [open, setOpen] = useState(false);
  const { inSession } = thread;
  if (!inSession) return null;
  const asked = thread.approvals.filter(({ parentToolCallId }) => parentToolCallId === toolCallId);
  const working = inSession.subagents.get(toolCallId);
  return (
    <>
      {working?.status === "running" && working.textDelta !== "" && !open && (
        <p className="tool-call-result muted truncate">{working.textDelta.slice(-160)}</p>
      )}
      {asked.map((approval) => (
        <div className="tool-call-body stack" key={approval.toolCallId}>
          <p className="small">
            The subagent asks to call <span className="mono">{approval.toolName}</span>.
          </p>
          <ApprovalForm approval={approval} />
        </div>
      ))}
      <div className="tool-call-body subagent">
        <button
          type="button"
          className="link subagent-toggle"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Icon name="thread" />
          {open ? "Close its thread" : "Open its thread"}
        </button>
        {open && <Messages toolCallId={toolCallId} name={nameOf(args)} inSession={inSession} />}
      </div>
    </>
  );
}

function nameOf(args: unknown): string {
  const { agentType = "Subagent" } = Object(args) as { agentType?: unknown };
  return String(agentType);
}

function Messages({
  toolCallId,
  name,
  inSession,
}: {
  toolCallId: string;
  name: string;
  inSession: InSession;
}): ReactNode {
  const working = inSession.subagents.get(toolCallId);
  // Looked up again whenever it has done something.
  const version = `${working?.status} ${working?.toolCalls.length}`;
  const said = useLoad(toolCallId, () => inSession.subagentMessages(toolCallId), version);
  if (said.error) return <Failure error={said.error} onRetry={said.reload} />;
  if (!said.value) return <Loading what="its thread" />;
  return (
    <div className="messages">
      {said.value.length === 0 && <p className="hint">No messages are stored.</p>}
      {inSession.showMessages(said.value, name)}
    </div>
  );
}
