import { type FormEvent, type ReactNode, useId, useState } from "react";
import { formatValue } from "../format.ts";
import { JsonEntry } from "../schema-form/json-entry.tsx";
import { Button } from "../ui/button.tsx";
import { useActions } from "./actions.tsx";
import { PlanForm, toPlan } from "./plan-form.tsx";
import { QuestionForm, toQuestion } from "./question-form.tsx";
import type { Approval } from "./thread.ts";

/** The decision on a tool call that waits: yes, or no with a reason the model reads; or the data that it asked for. */
export function ApprovalForm({ approval }: { approval: Approval }): ReactNode {
  const { thread, attempt, focusComposer } = useActions();
  const [declining, setDeclining] = useState(false);
  const [reason, setReason] = useState("");
  const [data, setData] = useState<unknown>();
  const [sent, setSent] = useState(false);
  const reasonId = useId();
  const dataId = useId();
  const { toolCallId } = approval;

  const decide = async (act: () => Promise<unknown>): Promise<void> => {
    setSent(true);
    // Once it is decided this form goes away with the approval; it comes back to life only when that failed.
    if (await attempt(act)) focusComposer();
    else setSent(false);
  };
  const decline = (event: FormEvent): void => {
    event.preventDefault();
    void decide(() => thread.decline(toolCallId, reason.trim() || undefined));
  };

  if (!approval.requiresApproval) {
    const answer = (resumeData: unknown): void => void decide(() => thread.approve(toolCallId, resumeData));
    const question = toQuestion(approval.suspendPayload);
    if (question) return <QuestionForm question={question} sent={sent} onAnswer={answer} />;
    if (toPlan(approval.suspendPayload)) return <PlanForm sent={sent} onAnswer={answer} />;
    return (
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          answer(data);
        }}
      >
        {approval.suspendPayload !== undefined && (
          <pre className="code">{formatValue(approval.suspendPayload)}</pre>
        )}
        <div className="field">
          <label className="label" htmlFor={dataId}>
            Your response to {approval.toolName}
          </label>
          <JsonEntry common={{ id: dataId, required: true }} value={data} onChange={setData} />
        </div>
        <div>
          <Button kind="primary" size="small" icon="check" type="submit" disabled={sent}>
            Answer
          </Button>
        </div>
      </form>
    );
  }
  if (declining) {
    return (
      <form className="stack" onSubmit={decline}>
        <div className="field">
          <label className="label" htmlFor={reasonId}>
            Why not? (optional; the model reads it)
          </label>
          <input
            className="input"
            id={reasonId}
            autoFocus
            onKeyDown={(event) => event.key === "Escape" && setDeclining(false)}
            value={reason}
            onChange={(event) => setReason(event.target.value)}
          />
        </div>
        <div className="row">
          <Button kind="danger" size="small" icon="cross" type="submit" disabled={sent}>
            Decline
          </Button>
          <Button kind="quiet" size="small" onClick={() => setDeclining(false)}>
            Back
          </Button>
        </div>
      </form>
    );
  }
  return (
    <div className="row decision">
      <Button
        kind="primary"
        size="small"
        icon="check"
        disabled={sent}
        onClick={() => void decide(() => thread.approve(toolCallId))}
      >
        Approve
      </Button>
      {thread.inSession && (
        <Button
          size="small"
          disabled={sent}
          onClick={() => void decide(() => thread.inSession!.alwaysAllow(toolCallId))}
        >
          Always for this category
        </Button>
      )}
      <Button kind="danger" size="small" icon="cross" disabled={sent} onClick={() => setDeclining(true)}>
        Decline …
      </Button>
      <span className="hint">
        This call has not run yet. It runs once if you approve it.
        {approval.reason !== undefined && ` Why it asks: ${approval.reason}.`}
      </span>
    </div>
  );
}
