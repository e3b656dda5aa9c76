import { type ReactNode, useState } from "react";
import { DataForm } from "../schema-form/data-form.tsx";
import type { JsonSchema } from "../schema-form/to-field.ts";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/state.tsx";
import { useAttempt } from "../use-attempt.ts";
import type { RunDoer } from "./run-doer.ts";

/** Executes a run again from a step on, with the input it had or another one. */
export function TimeTravelForm({
  label,
  stepKey,
  schema,
  payload,
  run,
}: {
  label: string;
  stepKey: string;
  schema: JsonSchema | undefined;
  /** The input it had. */
  payload: unknown;
  run: RunDoer;
}): ReactNode {
  const [open, setOpen] = useState(false);
  const { busy, error, attempt } = useAttempt();
  const travel = async (inputData: unknown, by: string): Promise<void> => {
    const body = {
      step: stepKey.split("."),
      inputData: inputData as never,
      ...(by === "one" && { perStep: true }),
    };
    if (await attempt(() => run.timeTravel(body))) setOpen(false);
  };
  if (!open) {
    return (
      <div>
        <Button icon="back" onClick={() => setOpen(true)}>
          Run again from here …
        </Button>
      </div>
    );
  }
  return (
    <DataForm
      className="wf-travel stack"
      schema={schema}
      initial={payload}
      label={`Input of ${label}`}
      error={error}
      head={
        <div>
          <h3 className="section-title">Run again from here</h3>
          <p className="hint">
            The results of this step and of those after it are replaced. Earlier steps keep their results.
          </p>
        </div>
      }
      actions={
        <>
          <Button kind="primary" icon="run" type="submit" value="all" disabled={busy}>
            Run from here
          </Button>
          <Button icon="next" type="submit" value="one" disabled={busy}>
            Only this step
          </Button>
          <Button kind="quiet" onClick={() => setOpen(false)}>
            Back
          </Button>
        </>
      }
      onSubmit={(value, by) => void travel(value, by)}
    >
      {error && <Failure error={error} />}
    </DataForm>
  );
}
