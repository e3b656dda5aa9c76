import { type ReactNode, useId, useState } from "react";
import { formatValue } from "../format.ts";
import { Button } from "../ui/button.tsx";
import type { Field } from "./to-field.ts";

interface ControlProps {
  name: string;
  field: Field;
  required: boolean;
  value: unknown;
  onChange(value: unknown): void;
}

/** The controls for a schema's value. */
export function SchemaForm({
  field,
  value,
  onChange,
}: Pick<ControlProps, "field" | "value" | "onChange">): ReactNode {
  if (field.kind === "object") return <Properties field={field} value={value} onChange={onChange} />;
  return <Control name="input" field={field} required value={value} onChange={onChange} />;
}

function Properties({
  field,
  value,
  onChange,
}: {
  field: Extract<Field, { kind: "object" }>;
  value: unknown;
  onChange(value: unknown): void;
}): ReactNode {
  const current = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (field.properties.length === 0) return <p className="hint">It takes no input.</p>;
  return (
    <div className="stack">
      {field.properties.map((property) => (
        <Control
          key={property.name}
          name={property.name}
          field={property.field}
          required={property.required}
          value={current[property.name]}
          onChange={(next) => onChange({ ...current, [property.name]: next })}
        />
      ))}
    </div>
  );
}

function Control(props: ControlProps): ReactNode {
  const { name, field, required, value, onChange } = props;
  const id = useId();
  const hintId = `${id}-hint`;
  const hint = field.description && (
    <span className="hint" id={hintId}>
      {field.description}
    </span>
  );
  const described = field.description ? hintId : undefined;
  const label = (
    <>
      {field.title ?? name}
      {required && field.kind !== "boolean" && (
        <span className="required" title="Required">
          {" "}
          *
        </span>
      )}
    </>
  );

  if (field.kind === "object" || field.kind === "list") {
    return (
      <fieldset className="field group" aria-describedby={described}>
        <legend className="label">{label}</legend>
        {hint}
        {field.kind === "object" ? (
          <Properties field={field} value={value} onChange={onChange} />
        ) : (
          <List field={field} value={value} onChange={onChange} />
        )}
      </fieldset>
    );
  }
  if (field.kind === "boolean") {
    return (
      <label className="check">
        <input
          type="checkbox"
          checked={value === true}
          onChange={(event) => onChange(event.target.checked)}
        />
        <span>
          {label}
          {hint && <br />}
          {hint}
        </span>
      </label>
    );
  }
  return (
    <div className="field">
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <Entry {...props} id={id} described={described} />
      {hint}
    </div>
  );
}

function Entry({
  field,
  required,
  value,
  onChange,
  id,
  described,
}: ControlProps & { id: string; described: string | undefined }): ReactNode {
  const common = { id, className: "input", required, "aria-describedby": described };
  switch (field.kind) {
    case "choice":
      return (
        <select
          {...common}
          value={value === undefined ? "" : String(field.choices.indexOf(value))}
          onChange={(event) =>
            onChange(event.target.value === "" ? undefined : field.choices[Number(event.target.value)])
          }
        >
          <option value="">–</option>
          {field.choices.map((choice, index) => (
            <option key={index} value={index}>
              {String(choice)}
            </option>
          ))}
        </select>
      );
    case "number":
      return (
        <input
          {...common}
          type="number"
          step={field.step}
          min={field.minimum}
          max={field.maximum}
          value={typeof value === "number" ? value : ""}
          onChange={(event) => onChange(event.target.value === "" ? undefined : event.target.valueAsNumber)}
        />
      );
    case "text": {
      const text = typeof value === "string" ? value : "";
      const change = (event: { target: { value: string } }): void => onChange(event.target.value);
      const limits = { minLength: field.minLength, maxLength: field.maxLength };
      if (field.long)
        return (
          <textarea
            {...common}
            {...limits}
            className="input growing"
            rows={1}
            value={text}
            onChange={change}
          />
        );
      return (
        <input {...common} {...limits} type="text" pattern={field.pattern} value={text} onChange={change} />
      );
    }
    default:
      return <JsonEntry common={common} value={value} onChange={onChange} />;
  }
}

/** A value written as JSON. What cannot be read yet stays in the box and does not pass the form's check. */
export function JsonEntry({
  common,
  value,
  onChange,
}: {
  common: Record<string, unknown>;
  value: unknown;
  onChange(value: unknown): void;
}): ReactNode {
  const [draft, setDraft] = useState(() => (value === undefined ? "" : formatValue(value)));
  return (
    <textarea
      {...common}
      className="input mono"
      rows={4}
      spellCheck={false}
      placeholder="JSON"
      value={draft}
      onChange={(event) => {
        setDraft(event.target.value);
        try {
          onChange(event.target.value.trim() === "" ? undefined : JSON.parse(event.target.value));
          event.target.setCustomValidity("");
        } catch {
          event.target.setCustomValidity("This is not JSON.");
        }
      }}
    />
  );
}

function List({
  field,
  value,
  onChange,
}: {
  field: Extract<Field, { kind: "list" }>;
  value: unknown;
  onChange(value: unknown): void;
}): ReactNode {
  const items: unknown[] = Array.isArray(value) ? value : [];
  return (
    <div className="stack">
      {items.map((item, index) => (
        <div className="row list-item" key={index}>
          <div className="grow">
            <Control
              name={`${index + 1}`}
              field={field.item}
              required
              value={item}
              onChange={(next) => onChange(items.with(index, next))}
            />
          </div>
          <Button
            kind="quiet"
            size="small"
            icon="cross"
            label={`Remove ${index + 1}`}
            onClick={() => onChange(items.toSpliced(index, 1))}
          />
        </div>
      ))}
      <div>
        <Button size="small" icon="plus" onClick={() => onChange([...items, field.item.initial])}>
          Add
        </Button>
      </div>
    </div>
  );
}
