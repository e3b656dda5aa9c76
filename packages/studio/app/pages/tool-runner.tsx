import type { ToolInfo } from "@selvedge/protocol/routes";
import { type ReactNode, useEffect, useState } from "react";
import { formatDuration, formatError, formatValue } from "../format.ts";
import { DataForm } from "../schema-form/data-form.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { CopyButton } from "../ui/copy-button.tsx";
import { toError } from "../use-load.ts";

export interface RunnableTool {
  /** The name it is registered under. */
  key: string;
  tool: ToolInfo;
  agentId: string | undefined;
  owner: string;
}

type Outcome = { ms: number } & ({ result: unknown } | { error: Error });

export function ToolRunner({ entry }: { entry: RunnableTool }): ReactNode {
  const { tool } = entry;
  const { client } = useStudio();
  const [approved, setApproved] = useState(false);
  const [running, setRunning] = useState<AbortController>();
  const [outcome, setOutcome] = useState<Outcome>();

  useEffect(() => () => running?.abort(), [running]);

  const run = async (data: unknown): Promise<void> => {
    const controller = new AbortController();
    const { signal } = controller;
    setRunning(controller);
    setOutcome(undefined);
    const start = performance.now();
    const ms = (): number => performance.now() - start;
    const body = { data, ...(approved && { approved }) };
    try {
      const { agentId, key } = entry;
      const result = agentId
        ? await client.call("executeAgentTool", { params: { agentId, toolId: key }, body, signal })
        : await client.call("executeTool", { params: { toolId: key }, body, signal });
      setOutcome({ ms: ms(), result });
    } catch (thrown) {
      const error = signal.aborted ? new Error("You stopped waiting for the result.") : toError(thrown);
      setOutcome({ ms: ms(), error });
    } finally {
      setRunning(undefined);
    }
  };

  return (
    <section className="stack" aria-label={`Tool ${tool.id}`}>
      <DataForm
        schema={tool.inputSchema}
        label="Input"
        error={outcome && "error" in outcome ? outcome.error : undefined}
        onSubmit={(data) => void run(data)}
        head={
          <>
            <div className="row">
              <h2 className="section-title grow mono">{tool.id}</h2>
              {tool.requireApproval && <Badge tone="amber">asks for approval</Badge>}
              {tool.clientSide && <Badge>runs in the client</Badge>}
            </div>
            {tool.description && <p className="small muted">{tool.description}</p>}
          </>
        }
        actions={
          <>
            <Button
              kind="primary"
              icon="run"
              type="submit"
              disabled={running !== undefined || tool.clientSide === true}
            >
              {running ? "Running …" : "Run"}
            </Button>
            {running && (
              <Button icon="stop" onClick={() => running.abort()}>
                Stop waiting
              </Button>
            )}
          </>
        }
      >
        {tool.requireApproval && (
          <label className="check">
            <input
              type="checkbox"
              required
              checked={approved}
              onChange={(event) => setApproved(event.target.checked)}
            />
            <span>I approve this call</span>
          </label>
        )}
      </DataForm>
      <div aria-live="polite">{outcome && <OutcomeView outcome={outcome} />}</div>
    </section>
  );
}

function OutcomeView({ outcome }: { outcome: Outcome }): ReactNode {
  const failed = "error" in outcome;
  const text = failed ? formatError(outcome.error) : formatValue(outcome.result);
  return (
    <div className="card panel stack">
      <div className="row">
        <h3 className="section-title grow">{failed ? "Error" : "Result"}</h3>
        <CopyButton label={failed ? "Copy the error" : "Copy the result"} text={() => text} />
        <Badge tone={failed ? "red" : "green"}>{formatDuration(outcome.ms)}</Badge>
      </div>
      <pre className="code" tabIndex={0} data-testid="tool-outcome">
        {text}
      </pre>
    </div>
  );
}
