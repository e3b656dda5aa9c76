import type { WorkflowInfo } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { useRouter } from "../router.tsx";
import { DataForm } from "../schema-form/data-form.tsx";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/state.tsx";
import { useAttempt } from "../use-attempt.ts";
import { runPath } from "./workflow-path.ts";

/** Starts a run with an input, as a whole or step by step, and opens it. */
export function StartForm({ info, workflowId }: { info: WorkflowInfo; workflowId: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const { go } = useRouter();
  const { busy, error, attempt } = useAttempt();
  const start = async (inputData: unknown, by: string): Promise<void> => {
    const runId = crypto.randomUUID();
    const body = {
      resourceId,
      ...(inputData !== undefined && { inputData: inputData as never }),
      ...(by === "steps" && { perStep: true }),
    };
    // With a key, a request that got no answer is sent again and still counts once.
    const headers = { "idempotency-key": runId };
    const input = { params: { workflowId }, query: { runId }, body, headers };
    if (await attempt(() => client.call("startWorkflowRun", input))) go(runPath(workflowId, runId));
  };
  return (
    <DataForm
      schema={info.inputSchema}
      label="Input"
      error={error}
      head={<h2 className="section-title">Start a run</h2>}
      actions={
        <>
          <Button kind="primary" icon="run" type="submit" value="all" disabled={busy}>
            Run
          </Button>
          <Button icon="next" type="submit" value="steps" disabled={busy}>
            Step by step
          </Button>
        </>
      }
      onSubmit={(value, by) => void start(value, by)}
    >
      {error && <Failure error={error} />}
    </DataForm>
  );
}
