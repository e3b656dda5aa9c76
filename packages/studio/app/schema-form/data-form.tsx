import { type FormEvent, type ReactNode, useEffect, useId, useMemo, useRef, useState } from "react";
import { Button } from "../ui/button.tsx";
import { NO_ISSUES, toIssues, withoutIssuesAt } from "./issues.ts";
import { JsonEntry } from "./json-entry.tsx";
import { SchemaForm } from "./schema-form.tsx";
import { type JsonSchema, toField, toInput } from "./to-field.ts";

/** A form for a value that a schema describes, or the value as JSON. Give it a `key`: the schema is read once. */
export function DataForm({
  className = "card panel stack",
  schema,
  initial,
  label,
  error,
  head,
  children,
  actions,
  onSubmit,
}: {
  className?: string;
  schema: JsonSchema | undefined;
  /** A value to begin with, in place of the defaults. */
  initial?: unknown;
  /** The name of the value, where it is written as JSON. */
  label: string;
  /** Why the last attempt was refused. What it says about entries is shown there; the rest is the caller's. */
  error: Error | undefined;
  head?: ReactNode;
  /** Between the entries and the buttons. */
  children?: ReactNode;
  /** The buttons that send the form. */
  actions: ReactNode;
  /** `by` is the value of the button. */
  onSubmit(value: unknown, by: string): void;
}): ReactNode {
  const field = useMemo(() => toField(schema), [schema]);
  const [value, setValue] = useState(() => initial ?? field.initial);
  const [asJson, setAsJson] = useState(false);
  const [issues, setIssues] = useState(NO_ISSUES);
  const form = useRef<HTMLFormElement>(null);
  const jsonId = useId();

  const [shown, setShown] = useState<Error>();
  // While rendering, so that the entries are marked when the first of them gets the cursor.
  if (shown !== error) {
    setShown(error);
    setIssues(error ? toIssues(error) : NO_ISSUES);
  }
  useEffect(() => {
    // Once for each refusal: correcting one entry must not carry the cursor off to the next.
    if (error) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [error]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    setIssues(NO_ISSUES);
    const { submitter } = event.nativeEvent as SubmitEvent;
    onSubmit(asJson ? value : toInput(field, value), submitter?.getAttribute("value") ?? "");
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
    <form
      className={className}
      ref={form}
      onSubmit={submit}
      onInvalid={(event) => {
        // Each entry says itself what is wrong with it; the first one gets the cursor.
        event.preventDefault();
        const first = form.current?.querySelector<HTMLElement>(
          "input:invalid, select:invalid, textarea:invalid",
        );
        if (event.target === first) first.focus();
      }}
    >
      {head}
      {asJson ? (
        <div className="field">
          <label className="label" htmlFor={jsonId}>
            {label}
          </label>
          <JsonEntry common={{ id: jsonId }} rows={10} value={value} onChange={(next) => change(next, "")} />
        </div>
      ) : (
        <SchemaForm field={field} value={value} issues={issues} onChange={change} />
      )}
      {children}
      <div className="row">
        {actions}
        <Button kind="quiet" onClick={switchView} aria-pressed={asJson}>
          {asJson ? "As a form" : "As JSON"}
        </Button>
      </div>
    </form>
  );
}
