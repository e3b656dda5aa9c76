import type { ToolInfo } from "@selvedge/protocol/routes";
import { type FormEvent, type ReactNode, useId, useMemo, useRef, useState } from "react";
import { formatDuration, formatValue } from "../format.ts";
import { JsonEntry, SchemaForm } from "../schema-form/schema-form.tsx";
import { toField, toInput } from "../schema-form/to-field.ts";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
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
  const field = useMemo(() => toField(tool.inputSchema), [tool]);
  const [value, setValue] = useState(field.initial);
  const [asJson, setAsJson] = useState(false);
  const [approved, setApproved] = useState(false);
  const [running, setRunning] = useState(false);
  const [outcome, setOutcome] = useState<Outcome>();
  const form = useRef<HTMLFormElement>(null);
  const jsonId = useId();

  const run = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    setRunning(true);
    setOutcome(undefined);
    const start = performance.now();
    const ms = (): number => performance.now() - start;
    const body = { data: asJson ? value : toInput(field, value), ...(approved && { approved }) };
    try {
      const { agentId, key } = entry;
      const result = agentId
        ? await client.call("executeAgentTool", { params: { agentId, toolId: key }, body })
        : await client.call("executeTool", { params: { toolId: key }, body });
      setOutcome({ ms: ms(), result });
    } catch (error) {
      setOutcome({ ms: ms(), error: toError(error) });
    } finally {
      setRunning(false);
    }
  };

  return (
    <section className="stack" aria-label={`Tool ${tool.id}`}>
      <form className="card panel stack" ref={form} onSubmit={(event) => void run(event)}>
        <div className="row">
          <h2 className="section-title grow mono">{tool.id}</h2>
          {tool.requireApproval && <Badge tone="amber">asks for approval</Badge>}
          {tool.clientSide && <Badge>runs in the client</Badge>}
        </div>
        {tool.description && <p className="small muted">{tool.description}</p>}
        {asJson ? (
          <div className="field">
            <label className="label" htmlFor={jsonId}>
              Input
            </label>
            <JsonEntry common={{ id: jsonId }} value={value} onChange={setValue} />
          </div>
        ) : (
          <SchemaForm field={field} value={value} onChange={setValue} />
        )}
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
        <div className="row">
          <Button kind="primary" icon="run" type="submit" disabled={running || tool.clientSide === true}>
            {running ? "Running …" : "Run"}
          </Button>
          <Button kind="quiet" onClick={() => setAsJson(!asJson)} aria-pressed={asJson}>
            {asJson ? "As a form" : "As JSON"}
          </Button>
        </div>
      </form>
      <div aria-live="polite">{outcome && <OutcomeView outcome={outcome} />}</div>
    </section>
  );
}

function OutcomeView({ outcome }: { outcome: Outcome }): ReactNode {
  const failed = "error" in outcome;
  return (
    <div className="card panel stack">
      <div className="row">
        <h3 className="section-title grow">{failed ? "Error" : "Result"}</h3>
        <Badge tone={failed ? "red" : "green"}>{formatDuration(outcome.ms)}</Badge>
      </div>
      <pre className="code" tabIndex={0} data-testid="tool-outcome">
        {failed ? outcome.error.message : formatValue(outcome.result)}
      </pre>
    </div>
  );
}
