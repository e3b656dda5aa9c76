import type { ToolInfo } from "@selvedge/protocol/routes";
import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { formatDuration, formatError, formatValue } from "../format.ts";
import { NO_ISSUES, toIssues, withoutIssuesAt } from "../schema-form/issues.ts";
import { JsonEntry } from "../schema-form/json-entry.tsx";
import { SchemaForm } from "../schema-form/schema-form.tsx";
import { toField, toInput } from "../schema-form/to-field.ts";
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
  const field = useMemo(() => toField(tool.inputSchema), [tool]);
  const [value, setValue] = useState(field.initial);
  const [asJson, setAsJson] = useState(false);
  const [approved, setApproved] = useState(false);
  const [running, setRunning] = useState<AbortController>();
  const [outcome, setOutcome] = useState<Outcome>();
  const [issues, setIssues] = useState(NO_ISSUES);
  const form = useRef<HTMLFormElement>(null);
  const jsonId = useId();

  useEffect(() => () => running?.abort(), [running]);
  useEffect(() => {
    // Once for each refusal: correcting one entry must not carry the cursor off to the next.
    if (outcome) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [outcome]);

  const run = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    const controller = new AbortController();
    const { signal } = controller;
    setRunning(controller);
    setOutcome(undefined);
    setIssues(NO_ISSUES);
    const start = performance.now();
    const ms = (): number => performance.now() - start;
    const body = { data: asJson ? value : toInput(field, value), ...(approved && { approved }) };
    try {
      const { agentId, key } = entry;
      const result = agentId
        ? await client.call("executeAgentTool", { params: { agentId, toolId: key }, body, signal })
        : await client.call("executeTool", { params: { toolId: key }, body, signal });
      setOutcome({ ms: ms(), result });
    } catch (thrown) {
      const error = signal.aborted ? new Error("You stopped waiting for the result.") : toError(thrown);
      setOutcome({ ms: ms(), error });
      setIssues(toIssues(error));
    } finally {
      setRunning(undefined);
    }
  };
  const change = (next: unknown, at: string): void => {
    setValue(next);
    setIssues((now) => withoutIssuesAt(now, at));
  };
  const switchView = (): void => {
    // What cannot be read as JSON would be lost.
    if (asJson && form.current?.reportValidity() === false) return;
    // Only what would be sent: no entries that are empty.
    if (!asJson) setValue(toInput(field, value));
    setAsJson(!asJson);
  };

  return (
    <section className="stack" aria-label={`Tool ${tool.id}`}>
      <form
        className="card panel stack"
        ref={form}
        onSubmit={(event) => void run(event)}
        onInvalid={(event) => {
          // Each entry says itself what is wrong with it; the first one gets the cursor.
          event.preventDefault();
          const first = form.current?.querySelector<HTMLElement>(
            "input:invalid, select:invalid, textarea:invalid",
          );
          if (event.target === first) first.focus();
        }}
      >
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
            <JsonEntry
              common={{ id: jsonId }}
              rows={10}
              value={value}
              onChange={(next) => change(next, "")}
            />
          </div>
        ) : (
          <SchemaForm field={field} value={value} issues={issues} onChange={change} />
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
          <Button kind="quiet" onClick={switchView} aria-pressed={asJson}>
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
