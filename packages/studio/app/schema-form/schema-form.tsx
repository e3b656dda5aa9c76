import { type ReactNode, useId, useState } from "react";
import { formatShort } from "../format.ts";
import { Button } from "../ui/button.tsx";
import { type Issues, joinPath } from "./issues.ts";
import { JsonEntry } from "./json-entry.tsx";
import { type Field, isOptionalGroup, optionOf } from "./to-field.ts";

interface FieldProps<Kind extends Field["kind"] = Field["kind"]> {
  field: Extract<Field, { kind: Kind }>;
  value: unknown;
  /** Where the value stands in the input. */
  path: string;
  issues: Issues;
  /** `at` is where exactly it changed. */
  onChange(value: unknown, at: string): void;
}

interface ControlProps extends FieldProps {
  name: string;
  required: boolean;
}

/** The controls for a schema's value, each with what is wrong with it. */
export function SchemaForm(props: Omit<FieldProps, "path">): ReactNode {
  const { field, issues } = props;
  if (field.kind !== "object") return <Control {...props} path="" name="input" required />;
  return (
    <>
      <Properties {...props} field={field} path="" />
      {issues.has("") && (
        <p className="field-error" role="alert">
          {issues.get("")}
        </p>
      )}
    </>
  );
}

function Properties({ field, value, path, issues, onChange }: FieldProps<"object">): ReactNode {
  const current = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  if (field.properties.length === 0) return <p className="hint">No input is needed.</p>;
  return (
    <div className="stack">
      {field.properties.map((property) => (
        <Control
          key={property.name}
          name={property.name}
          field={property.field}
          required={property.required}
          value={current[property.name]}
          path={joinPath(path, property.name)}
          issues={issues}
          onChange={(next, at) => onChange({ ...current, [property.name]: next }, at)}
        />
      ))}
    </div>
  );
}

function Control(props: ControlProps): ReactNode {
  const { name, field, required, value, path, issues, onChange } = props;
  const id = useId();
  // What the browser finds wrong when the form is sent, until the entry changes.
  const [found, setFound] = useState<string>();
  const problem = found ?? issues.get(path);
  const hintId = `${id}-hint`;
  const errorId = `${id}-error`;
  const described = [field.description && hintId, problem && errorId].filter(Boolean).join(" ") || undefined;
  const hint = field.description && (
    <span className="hint" id={hintId}>
      {field.description}
    </span>
  );
  const error = problem && (
    <span className="field-error" id={errorId} role="alert">
      {problem}
    </span>
  );
  const label = (
    <>
      {field.title ?? name}
      {required && field.kind !== "boolean" && !field.nullable && (
        <span className="required" title="Required">
          {" "}
          *
        </span>
      )}
    </>
  );

  if (field.kind === "object" || field.kind === "list" || field.kind === "variant") {
    const optional = isOptionalGroup(field, required);
    const absent = optional && value === undefined;
    return (
      <fieldset className="field group" aria-describedby={described}>
        <legend className="label">{label}</legend>
        {hint}
        {absent ? (
          <div>
            <Button
              size="small"
              icon="plus"
              aria-label={`Add ${field.title ?? name}`}
              onClick={() => onChange(field.initial, path)}
            >
              Add
            </Button>
          </div>
        ) : (
          <>
            {field.kind === "object" && <Properties {...props} field={field} />}
            {field.kind === "list" && <List {...props} field={field} />}
            {field.kind === "variant" && <Variant {...props} field={field} label={field.title ?? name} />}
            {optional && (
              <div>
                <Button kind="quiet" size="small" icon="cross" onClick={() => onChange(undefined, path)}>
                  Leave out {field.title ?? name}
                </Button>
              </div>
            )}
          </>
        )}
        {error}
      </fieldset>
    );
  }
  if (field.kind === "boolean") {
    return (
      <div className="field">
        <label className="check">
          <input
            type="checkbox"
            checked={value === true}
            aria-describedby={described}
            onChange={(event) => onChange(event.target.checked, path)}
          />
          <span>{label}</span>
        </label>
        {hint}
        {error}
      </div>
    );
  }
  return (
    <div
      className="field"
      onInvalid={(event) => setFound((event.target as HTMLInputElement).validationMessage)}
    >
      <label className="label" htmlFor={id}>
        {label}
      </label>
      <Entry
        field={field}
        required={required && !field.nullable}
        value={value}
        id={id}
        described={described}
        invalid={problem !== undefined}
        onChange={(next) => {
          setFound(undefined);
          onChange(next, path);
        }}
      />
      {hint}
      {error}
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
  invalid,
}: {
  field: Field;
  required: boolean;
  value: unknown;
  onChange(value: unknown): void;
  id: string;
  described: string | undefined;
  invalid: boolean;
}): ReactNode {
  const common = {
    id,
    className: "input",
    required,
    "aria-describedby": described,
    "aria-invalid": invalid || undefined,
  };
  switch (field.kind) {
    case "choice":
      return (
        <select
          {...common}
          value={field.choices.includes(value) ? String(field.choices.indexOf(value)) : ""}
          onChange={(event) =>
            onChange(event.target.value === "" ? undefined : field.choices[Number(event.target.value)])
          }
        >
          <option value="">–</option>
          {field.choices.map((choice, index) => (
            <option key={index} value={index}>
              {formatShort(choice, 60)}
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
      const shared = {
        ...common,
        minLength: field.minLength,
        maxLength: field.maxLength,
        placeholder: field.example,
        value: typeof value === "string" ? value : "",
        onChange: (event: { target: { value: string } }) => onChange(event.target.value),
      };
      if (field.input === "long") return <textarea {...shared} className="input growing" rows={1} />;
      return <input {...shared} type={field.input} pattern={field.pattern} />;
    }
    default:
      return <JsonEntry common={common} value={value} onChange={onChange} />;
  }
}

function Variant({
  field,
  value,
  path,
  issues,
  onChange,
  label,
}: FieldProps<"variant"> & { label: string }): ReactNode {
  const [chosen, setChosen] = useState(() => optionOf(field, value));
  const option = field.options[chosen]!;
  const choose = (next: number): void => {
    setChosen(next);
    onChange(field.options[next]!.field.initial, path);
  };
  return (
    <div className="stack">
      <select
        className="input"
        aria-label={`Kind of ${label}`}
        value={chosen}
        onChange={(event) => choose(Number(event.target.value))}
      >
        {field.options.map((each, index) => (
          <option key={index} value={index}>
            {each.label}
          </option>
        ))}
      </select>
      {option.field.kind === "object" ? (
        <Properties
          key={chosen}
          field={option.field}
          value={value}
          path={path}
          issues={issues}
          onChange={onChange}
        />
      ) : (
        <Control
          key={chosen}
          name={option.label}
          field={option.field}
          required
          value={value}
          path={path}
          issues={issues}
          onChange={onChange}
        />
      )}
    </div>
  );
}

function List({ field, value, path, issues, onChange }: FieldProps<"list">): ReactNode {
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
              path={joinPath(path, index)}
              issues={issues}
              onChange={(next, at) => onChange(items.with(index, next), at)}
            />
          </div>
          <Button
            kind="quiet"
            size="small"
            icon="cross"
            label={`Remove ${index + 1}`}
            onClick={() => onChange(items.toSpliced(index, 1), path)}
          />
        </div>
      ))}
      <div>
        <Button
          size="small"
          icon="plus"
          disabled={field.maxItems !== undefined && items.length >= field.maxItems}
          onClick={() => onChange([...items, field.item.initial], path)}
        >
          Add
        </Button>
      </div>
    </div>
  );
}
