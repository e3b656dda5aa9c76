import type { ToolInvocation } from "@selvedge/protocol";
import { type ReactNode, useMemo, useState } from "react";
import { formatShort } from "../format.ts";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Payload } from "../ui/payload.tsx";
import { useActions, useApproval } from "./actions.tsx";
import { ApprovalForm } from "./approval-form.tsx";
import { ChangeCard } from "./change-card.tsx";
import { PlanText, toPlan } from "./plan-form.tsx";
import { plainOutput } from "./shell-output.ts";
import { Screenshot, withoutPicture } from "./screenshot.tsx";
import { SubagentThread } from "./subagent-thread.tsx";
import { OutputBox } from "./terminal-card.tsx";

interface Look {
  tone?: Tone;
  text: string;
}

/** A tool call in its place in the text; one that waits for a person asks right there. */
export function ToolCall({ call }: { call: ToolInvocation }): ReactNode {
  const approval = useApproval(call.toolCallId);
  const [open, setOpen] = useState(false);
  const look = toLook(call, approval !== undefined);
  const args = call.transcript?.args ?? call.args;
  const whole = call.transcript?.result ?? call.result;
  const result = useMemo(() => withoutPicture(call.toolName, whole), [call.toolName, whole]);
  // The values may be large, and change less often than this is drawn.
  const shortArgs = useMemo(() => formatShort(inShort(call.toolName, args)), [call.toolName, args]);
  const shortResult = useMemo(() => formatShort(contentOf(result), 160), [result]);
  const plan = call.toolName === "submit_plan" ? toPlan(args) : undefined;
  // The list itself is shown elsewhere.
  const isQuiet = call.toolName.startsWith("task_") && !call.isError;
  return (
    <div
      className="tool-call"
      data-waiting={approval ? "" : undefined}
      data-quiet={isQuiet || undefined}
      data-testid="tool-call"
    >
      <button type="button" className="tool-call-head" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="tool" />
        <span className="mono tool-call-name">{call.toolName}</span>
        <span className="mono muted truncate grow">{shortArgs}</span>
        <Badge tone={look.tone} pulse={look.text === "running"}>
          {look.text}
        </Badge>
      </button>
      {open && (
        <div className="tool-call-body stack">
          <Payload name="Input" value={args} />
          {result !== undefined && <Payload name={call.isError ? "Error" : "Result"} value={result} />}
          {call.approval?.reason && <Payload name="Reason" value={call.approval.reason} />}
        </div>
      )}
      {!open && result !== undefined && !isQuiet && (
        <p className="tool-call-result mono muted truncate">← {shortResult}</p>
      )}
      <Screenshot toolName={call.toolName} result={whole} />
      {plan && (
        <div className="tool-call-body">
          <PlanText plan={plan} />
        </div>
      )}
      {call.toolName === "subagent" && <SubagentThread toolCallId={call.toolCallId} args={args} />}
      {call.state !== "result" && <SessionOutput toolCallId={call.toolCallId} />}
      {call.state === "result" && !call.isError && EDITS.test(call.toolName) && (
        <SessionChange toolCallId={call.toolCallId} />
      )}
      {approval && (
        <div className="tool-call-body">
          <ApprovalForm approval={approval} />
        </div>
      )}
    </div>
  );
}

const EDITS = /^mastra_workspace_(?:write_file|edit_file|delete|mkdir)$/;

/** The messages of a session leave out what a call announced, so its change is looked up. */
function SessionChange({ toolCallId }: { toolCallId: string }): ReactNode {
  const { thread } = useActions();
  return thread.inSession && <ChangeCard toolCallId={toolCallId} />;
}

/** What a command has written, while it runs. */
function SessionOutput({ toolCallId }: { toolCallId: string }): ReactNode {
  const output = useActions().thread.inSession?.calls.get(toolCallId)?.shellOutput;
  const shown = useMemo(() => output && plainOutput(output), [output]);
  return <OutputBox output={shown} />;
}

/** What a call is about: of tools that every session has in words, of others as it is. */
function inShort(toolName: string, args: unknown): unknown {
  const { question, title, agentType, task, id } = Object(args) as Record<string, string | undefined>;
  const words: Record<string, unknown> = {
    ask_user: question,
    submit_plan: title,
    subagent: agentType && `${agentType}: ${task}`,
    task_update: id,
    task_complete: id,
    task_write: "",
  };
  return words[toolName] ?? args;
}

/** Of a result for people only its words. */
function contentOf(result: unknown): unknown {
  const { content } = Object(result) as { content?: unknown };
  return typeof content === "string" ? content : result;
}

function toLook(call: ToolInvocation, waiting: boolean): Look {
  if (waiting) return { tone: "amber", text: "waiting for you" };
  if (call.isError) return { tone: "red", text: "failed" };
  switch (call.state) {
    case "result":
      return { tone: "green", text: "done" };
    case "output-error":
      return { tone: "red", text: "failed" };
    case "output-denied":
      return { text: "declined" };
    case "approval-requested":
      return { tone: "amber", text: "waiting for approval" };
    default:
      return { tone: "indigo", text: "running" };
  }
}
