import { type ReactNode, useId, useState } from "react";
import { DataForm } from "../schema-form/data-form.tsx";
import type { JsonSchema } from "../schema-form/to-field.ts";
import { Button } from "../ui/button.tsx";
import { Payload } from "../ui/payload.tsx";
import { Failure } from "../ui/state.tsx";
import { useAttempt } from "../use-attempt.ts";
import { questionIn } from "./question-in.ts";
import type { RunDoer } from "./run-doer.ts";

/** What a suspended step waits for, as a form. */
export function ResumeForm({
  label,
  stepKey,
  schema,
  payload,
  perItem,
  run,
}: {
  label: string;
  stepKey: string;
  schema: JsonSchema | undefined;
  /** What the step said when it suspended. */
  payload: unknown;
  /** Several items may wait: one of them, or all, get the answer. */
  perItem: boolean;
  run: RunDoer;
}): ReactNode {
  const { busy, error, attempt } = useAttempt();
  const [item, setItem] = useState("");
  const itemId = useId();
  const { question, rest } = questionIn(payload);
  const resume = (resumeData: unknown): void =>
    void attempt(() =>
      run.resume({
        step: stepKey.split("."),
        ...(resumeData !== undefined && { resumeData: resumeData as never }),
        ...(item !== "" && { forEachIndex: Number(item) - 1 }),
      }),
    );
  return (
    <DataForm
      className="wf-ask stack"
      schema={schema}
      label={`Answer to ${label}`}
      error={error}
      head={
        <>
          <h3 className="section-title">This step is waiting for you</h3>
          {question !== undefined && <p className="wf-question">{question}</p>}
          {rest !== undefined && <Payload name="It says" value={rest} />}
        </>
      }
      actions={
        <Button kind="primary" icon="check" type="submit" disabled={busy}>
          {busy ? "Resuming …" : "Resume"}
        </Button>
      }
      onSubmit={resume}
    >
      {perItem && (
        <div className="field">
          <label className="label" htmlFor={itemId}>
            Item
          </label>
          <input
            className="input fit"
            id={itemId}
            type="number"
            min={1}
            value={item}
            placeholder="all that wait"
            onChange={(event) => setItem(event.target.value)}
          />
        </div>
      )}
      {error && <Failure error={error} />}
    </DataForm>
  );
}
