import { type FormEvent, type ReactNode, useId, useState } from "react";
import { Markdown } from "../markdown/markdown.tsx";
import { Button } from "../ui/button.tsx";

interface Plan {
  title: string;
  plan: string;
}

/** What a tool submits, where it submits a plan as `submit_plan` does. */
export function toPlan(payload: unknown): Plan | undefined {
  const { title = "Plan", plan, path } = Object(payload) as Record<string, unknown>;
  const text = plan ?? (typeof path === "string" ? `The plan is in \`${path}\`.` : undefined);
  return typeof text === "string" ? { title: String(title), plan: text } : undefined;
}

export function PlanText({ plan: { title, plan } }: { plan: Plan }): ReactNode {
  return (
    <section className="plan" aria-label={`Plan: ${title}`}>
      <h3>{title}</h3>
      <Markdown text={plan} />
    </section>
  );
}

/** Yes, or back with what should be different. */
export function PlanForm({
  sent,
  onAnswer,
}: {
  sent: boolean;
  onAnswer(answer: { action: "approved" | "rejected"; feedback?: string }): void;
}): ReactNode {
  const id = useId();
  const [feedback, setFeedback] = useState<string>();
  const reject = (event: FormEvent): void => {
    event.preventDefault();
    const words = feedback?.trim() ?? "";
    onAnswer({ action: "rejected", ...(words !== "" && { feedback: words }) });
  };
  if (feedback === undefined) {
    return (
      <div className="row decision">
        <Button
          kind="primary"
          size="small"
          icon="check"
          disabled={sent}
          onClick={() => onAnswer({ action: "approved" })}
        >
          Approve the plan
        </Button>
        <Button size="small" icon="edit" disabled={sent} onClick={() => setFeedback("")}>
          Send it back …
        </Button>
        <span className="hint">Nothing happens until you approve.</span>
      </div>
    );
  }
  return (
    <form className="stack" onSubmit={reject}>
      <div className="field">
        <label className="label" htmlFor={id}>
          What should be different?
        </label>
        <input
          className="input"
          id={id}
          autoFocus
          value={feedback}
          onChange={(event) => setFeedback(event.target.value)}
          onKeyDown={(event) => event.key === "Escape" && setFeedback(undefined)}
        />
      </div>
      <div className="row">
        <Button kind="danger" size="small" icon="cross" type="submit" disabled={sent}>
          Send it back
        </Button>
        <Button kind="quiet" size="small" onClick={() => setFeedback(undefined)}>
          Back
        </Button>
      </div>
    </form>
  );
}
